// The SAP, Similar and Lagged contact models: friction regularised near zero slip, with and without
// the gliding gap.

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

std::string BlockScene(const std::string& model, double degrees, const std::string& velocity) {
  return Fill(R"(
time_step: 0.005
method: {convex: {model: $MODEL}}
contact: {friction: 0.5, $ANCHORED}
bodies:
  - {name: slope, rigid: {motion: FIXED, pose: {rpy_degrees: [0, $DEGREES, 0]},
      shapes: [{half_space: {}}]}}
  - name: block
    rigid:
      motion: FREE
      mass: 2
      inertia: [0.01, 0.01, 0.01, 0, 0, 0]
      pose: {position: [$X, 0, $Z], rpy_degrees: [0, $DEGREES, 0]}
      velocity: {linear: [$VELOCITY, 0, 0]}
      shapes: [{box: {size: [0.2, 0.2, 0.05]}}]
probes:
  - {name: p, position: {body: block}}
  - {name: v, velocity: {body: block}}
  - {name: f, contact_force: {body: block}}
)",
              {{"$MODEL", model},
               {"$ANCHORED", "anchored: false"},
               {"$DEGREES", Number(degrees)},
               {"$X", Number(0.025 * CalcSinCos(degrees * kPi / 180).sin)},
               {"$Z", Number(0.025 * CalcSinCos(degrees * kPi / 180).cos)},
               {"$VELOCITY", velocity}});
}

class ContactModels : public testing::TestWithParam<const char*> {};

TEST_P(ContactModels, StickOnASlopeBelowTheSlipSpeed) {
  // tan 15° = 0.27, about half of μ: slip at a little more than half of the slip speed of 0.1 mm/s,
  // or creep by σ
  World world = LoadWorld(BlockScene(GetParam(), 15, "0"));
  RunUntil(1, &world);
  const Vector3d v = ReadVector(world, "v");
  EXPECT_LT(v.norm(), 1.2e-4);
  EXPECT_NEAR(Read(world, "f")[2], 2 * kGravity, 1e-3 * 2 * kGravity);
}

TEST_P(ContactModels, SlideToAStopInTheDistanceOfCoulomb) {
  World world = LoadWorld(BlockScene(GetParam(), 0, "1"));
  RunUntil(0.5, &world);
  // v² / 2 μ g, up to the first-order error of implicit Euler
  EXPECT_NEAR(ReadVector(world, "p").x(), 1 / (2 * 0.5 * kGravity), 0.03 / (2 * 0.5 * kGravity));
  EXPECT_LT(ReadVector(world, "v").norm(), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Model, ContactModels, testing::Values("SAP", "SIMILAR", "LAGGED"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ContactModels, OnlyLaggedDoesNotGlide) {
  // while sliding at 1 m/s, the gliding gap of a convex friction cone is at least μ v h
  const auto height = [](const char* model) {
    World world = LoadWorld(BlockScene(model, 0, "1"));
    RunUntil(0.05, &world);
    return ReadVector(world, "p").z() - 0.025;
  };
  EXPECT_GT(height("SAP"), 0.002);
  EXPECT_GT(height("SIMILAR"), 0.002);
  EXPECT_LT(height("LAGGED"), 1e-4);
}

}  // namespace
}  // namespace pliant::physics
