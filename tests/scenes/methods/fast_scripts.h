#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {

// A scene under a method, with its scripts `speed_factor` times as fast. A seed other than 0 scales
// the amplitude of each script about its first value by up to ±40 %; orientations stay.
inline World LoadWithFastScripts(const std::string& scene, const std::string& method,
                                 double speed_factor, unsigned seed) {
  auto model = std::make_shared<Model>(LoadShipped(scene, {}, method).model());
  std::mt19937 random(seed);
  for (Script& script : model->script) {
    for (double& time : script.times) time /= speed_factor;
    if (seed == 0) continue;
    const double extent = 1 + 0.4 * (2 * (random() / 4294967295.0) - 1);
    for (std::vector<double>& value : script.values) {
      const std::size_t count = script.kind == Script::Kind::kPose
                                    ? std::min<std::size_t>(3, value.size())
                                    : value.size();
      for (std::size_t i = 0; i < count; ++i)
        value[i] = script.values[0][i] + extent * (value[i] - script.values[0][i]);
    }
  }
  return World(model);
}

// Takes `steps` steps, of which at most a part may miss the tolerance.
inline void ExpectConvergence(int steps, double max_missed, World* world) {
  int missed = 0;
  std::string which;
  for (int step = 0; step < steps; ++step) {
    const absl::Status status = world->Step();
    ASSERT_TRUE(status.ok()) << "step " << step << ": " << status.message();
    if (world->report().converged) continue;
    ++missed;
    absl::StrAppend(&which, " ", step, " (", world->report().residual, ")");
  }
  for (const double x : world->state().q) ASSERT_TRUE(std::isfinite(x));
  EXPECT_LE(missed, max_missed * steps) << "missed:" << which;
}

}  // namespace pliant::physics
