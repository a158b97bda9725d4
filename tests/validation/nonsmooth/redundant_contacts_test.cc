// Continuity between steps of the forces of redundant contacts, whose load distribution is not
// unique (Macklin et al. 2019, §10.3).

#include <array>
#include <cstdio>
#include <random>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr int kFeet = 5;         // along each side
constexpr double kApart = 0.05;  // [m]
constexpr double kSlabStep = 0.0083333333333333333;

// A slab of 1 kg that slides and turns on 5 × 5 round feet. Their heights differ by up to
// `roughness` [m], as by rounding.
World LoadSlab(double speed, double roughness, const std::string& options) {
  std::mt19937 random(1);
  std::string feet;
  for (int i = 0; i < kFeet; ++i) {
    for (int j = 0; j < kFeet; ++j) {
      char height[32];  // with all digits
      std::snprintf(height, sizeof height, "%.17g",
                    0.01 + roughness * static_cast<double>(random()) / 4294967296.0);
      absl::StrAppend(&feet, feet.empty() ? "" : ", ",
                      "{sphere: {radius: 0.01}, pose: {position: [", kApart * (i - kFeet / 2), ", ",
                      kApart * (j - kFeet / 2), ", ", height, "]}}");
    }
  }
  return LoadWorld(Fill(R"(
time_step: $H
sleeping: false
contact: {friction: 0.5}
method: {nonsmooth: {friction: FIXED_POINT, newton_iterations: 6, linear_iterations: 40, $OPTIONS}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: slab, rigid: {motion: FREE, mass: 1, inertia: [0.01, 0.01, 0.02, 0, 0, 0],
      shapes: [$FEET],
                         velocity: {linear: [$SPEED, 0, 0], angular: [0, 0, $SPEED]}}}
)",
                        {{"$H", Number(kSlabStep)},
                         {"$OPTIONS", options},
                         {"$FEET", feet},
                         {"$SPEED", Number(speed)}}));
}

// Normal forces of the feet over their mean load; 0 for a foot without contact.
std::array<double, kFeet * kFeet> ReadFeet(const World& world) {
  std::array<double, kFeet * kFeet> forces{};
  const RigidTransform X_WB = CalcBodyPose(world.model(), world.state(), 1);
  for (const ContactForce& contact : world.report().contacts) {
    const Vector3d p = X_WB.R.transpose() * (contact.p_W - X_WB.p);
    const int i = static_cast<int>(std::floor(p.x() / kApart + 0.5)) + kFeet / 2,
              j = static_cast<int>(std::floor(p.y() / kApart + 0.5)) + kFeet / 2;
    if (i < 0 || i >= kFeet || j < 0 || j >= kFeet) continue;
    forces[kFeet * i + j] +=
        std::abs(contact.impulse_W.z()) / (kGravity * kSlabStep / (kFeet * kFeet));
  }
  return forces;
}

// Root mean square change of a foot's relative force between steps, over a third of a second.
double CalcNoise(double speed, double roughness, const std::string& options) {
  World world = LoadSlab(speed, roughness, options);
  double sum = 0;
  auto before = ReadFeet(world);
  for (int step = 0; step < 40; ++step) {
    EXPECT_TRUE(world.Step().ok());
    const auto now = ReadFeet(world);
    if (step > 0)
      for (int k = 0; k < kFeet * kFeet; ++k) sum += (now[k] - before[k]) * (now[k] - before[k]);
    before = now;
  }
  return std::sqrt(sum / (39 * kFeet * kFeet));
}

// The Fischer–Burmeister function has a kink at one point, and the minimum map along a line, where
// differences below any manufacturing tolerance decide which contacts are closed.
//
// Overlap is not resolved by velocity, which would raise the noise of the minimum map at 1e-10 m
// from 2 to 18 and leave that of the Fischer–Burmeister function unchanged.
TEST(RedundantContacts, SlideWithLessThanAQuarterOfTheNoiseOfTheMinimumMap) {
  for (const bool is_warm : {false, true}) {
    const std::string warm = is_warm ? "warm_start: true" : "warm_start: false";
    for (const double roughness : {1e-12, 1e-10}) {
      // at 1e-12 without warm start both are quiet
      if (!is_warm && roughness < 1e-11) continue;
      const double smooth = CalcNoise(3, roughness, "ncp: FISCHER_BURMEISTER, " + warm);
      const double minimum = CalcNoise(3, roughness, "ncp: MINIMUM_MAP, " + warm);
      EXPECT_LE(smooth, 0.25 * minimum) << roughness << " m, " << warm;
    }
  }
}

// At rest every step is the same, and so is its solution.
TEST(RedundantContacts, RestSteadily) {
  EXPECT_LT(CalcNoise(0, 1e-12, "ncp: FISCHER_BURMEISTER"), 1e-6);
  EXPECT_LT(CalcNoise(0, 1e-12, "ncp: MINIMUM_MAP"), 1e-3);
}

// Each step starts from the solution of the last. If every step took a little more from the feet
// that carry less, a few feet would soon carry all of the load.
TEST(RedundantContacts, KeepSharingTheLoadStepAfterStep) {
  World world = LoadSlab(3, 0, "warm_start: true");
  for (int step = 0; step < 40; ++step) ASSERT_TRUE(world.Step().ok());
  for (const double force : ReadFeet(world)) {
    EXPECT_GT(force, 0.2);
    EXPECT_LT(force, 3);
  }
}

}  // namespace
}  // namespace pliant::physics
