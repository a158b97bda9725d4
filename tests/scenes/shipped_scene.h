#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "physics/scene/scene.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {

// Loads a shipped scene with FIELD.PATH=VALUE overrides, by its own or another method. Warnings
// fail the test unless there are overrides or another method.
inline World LoadShipped(const std::string& name, const std::vector<std::string>& overrides = {},
                         const std::string& method = "") {
  SceneOptions options;
  options.overrides = overrides;
  options.method = method;
  const SceneResult result =
      LoadSceneFile(absl::StrCat(PLIANT_SOURCE_DIR "/scenes/", name, ".yaml"), options);
  for (const SceneMessage& message : result.messages) {
    if (message.error || (overrides.empty() && method.empty())) ADD_FAILURE() << Format(message);
  }
  if (!result.ok()) std::abort();
  return World(result.model);
}

// Steps until time t [s], whether steps converge or not.
inline void RunRegardless(double t, World* world) {
  while (world->state().time < t - 1e-6 * world->model().time_step) {
    const absl::Status status = world->Step();
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

inline double ReadNumber(const World& world, const std::string& probe) {
  return Read(world, probe).at(0);
}

// Largest absolute value of a probe's first number over the steps up to t [s].
inline double MaximumUntil(double t, const std::string& probe, World* world) {
  double largest = 0;
  while (world->state().time < t - 1e-6 * world->model().time_step &&
         !::testing::Test::HasFatalFailure()) {
    RunUntil(world->state().time + world->model().time_step, world);
    largest = std::max(largest, std::abs(ReadNumber(*world, probe)));
  }
  return largest;
}

}  // namespace pliant::physics
