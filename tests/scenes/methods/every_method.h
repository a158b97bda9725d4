#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {

inline constexpr std::array kMethods = {"convex", "corrective", "nonsmooth", "smooth"};

// Particles have thousands of unknowns in contact, for which `corrective` and `nonsmooth` take
// seconds a step so far, and `smooth` where they are many, as it does for rings that fall far in a
// step.
inline constexpr int kTooSlow = -1;

// Requirements on the first steps of a scene by each method, at its default budgets.
struct SceneCourse {
  std::string scene;
  int steps;
  bool touches;  // whether bodies come into contact within these steps
  // Minimum number of converged steps by each method. Counts below `steps` are those measured;
  // later changes may only raise them. kTooSlow: not run by this method.
  std::array<int, 4> converged;
};

inline void PrintTo(const SceneCourse& course, std::ostream* out) {
  *out << course.scene;
}

// Runs a scene by a method. Every step must succeed and leave a finite state; contacts and
// converged steps must be as given in `course`.
inline void CheckCourse(const SceneCourse& course, int method) {
  if (course.converged[method] == kTooSlow)
    GTEST_SKIP() << "a step of " << course.scene << " takes seconds by " << kMethods[method];
  SceneOptions options;
  options.method = kMethods[method];
  const SceneResult scene =
      LoadSceneFile(absl::StrCat(PLIANT_SOURCE_DIR "/scenes/", course.scene, ".yaml"), options);
  ASSERT_TRUE(scene.ok());
  ASSERT_STREQ(MethodName(scene.model->method.kind), kMethods[method]);
  World world(scene.model);
  int converged = 0, first_miss = -1;
  std::size_t contacts = 0;
  double worst = 0;
  for (int step = 0; step < course.steps; ++step) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << "step " << step << ": " << status.message();
    converged += world.report().converged;
    if (!world.report().converged && first_miss < 0) first_miss = step;
    worst = std::max(worst, world.report().residual);
    contacts = std::max(contacts, world.report().contacts.size());
  }
  for (const double x : world.state().q) ASSERT_TRUE(std::isfinite(x));
  for (const double x : world.state().v) ASSERT_TRUE(std::isfinite(x));
  EXPECT_EQ(contacts > 0, course.touches) << contacts << " contacts";
  EXPECT_GE(converged, course.converged[method])
      << "of " << course.steps << " steps; the first that did not is " << first_miss
      << ", the largest residual " << worst;
}

// Shipped scenes missing from a list, and listed scenes that do not ship.
inline std::vector<std::string> FindUnmatchedScenes(std::vector<std::string> listed) {
  std::vector<std::string> shipped, unmatched;
  for (const auto& entry : std::filesystem::directory_iterator(PLIANT_SOURCE_DIR "/scenes"))
    if (entry.path().extension() == ".yaml") shipped.push_back(entry.path().stem().string());
  std::sort(shipped.begin(), shipped.end());
  std::sort(listed.begin(), listed.end());
  std::set_symmetric_difference(shipped.begin(), shipped.end(), listed.begin(), listed.end(),
                                std::back_inserter(unmatched));
  return unmatched;
}

}  // namespace pliant::physics
