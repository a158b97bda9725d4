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

// A scheme of the nonsmooth method's friction at its default budget, and how many steps may miss
// the tolerance.
struct FrictionScheme {
  std::vector<std::string> overrides;
  int may_miss;
  std::string method = "nonsmooth";  // empty: as the scene says
};

// The method's default, with which all steps converge, and the fixed point of macklin2019 alone,
// which misses many steps (measured counts at each use) but meets the scene's expectations.
inline std::vector<FrictionScheme> Schemes(int fixed_point_may_miss) {
  return {{{}, 0}, {{"method.nonsmooth.friction=FIXED_POINT"}, fixed_point_may_miss}};
}

// Schemes(), and the scheme that the scene chooses; `option` is the scene's other option of the
// method, if it has one.
inline std::vector<FrictionScheme> SchemesBesideTheScenes(int fixed_point_may_miss,
                                                          const std::string& option = "") {
  std::vector<FrictionScheme> schemes = Schemes(fixed_point_may_miss);
  if (!option.empty())
    for (FrictionScheme& scheme : schemes) scheme.overrides.push_back(option);
  schemes.push_back({{}, 0, ""});
  return schemes;
}

}  // namespace pliant::physics
