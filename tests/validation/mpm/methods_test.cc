// A block of particles under every method: it rests with its weight, and slides as a rigid block
// does.

#include <cmath>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

class ParticlesUnder : public testing::TestWithParam<const char*> {};

World LoadBlock(const char* method, const Vector3d& gravity, double friction) {
  return LoadWorld(Fill(R"(
name: block
time_step: 0.01
method: {$METHOD: {}}
gravity: $G
grid: {cell_size: 0.025}
contact: {friction: $MU}
bodies:
  - name: ground
    rigid: {motion: FIXED, shapes: [{half_space: {}}]}
  - name: block
    particles:
      fill: {box: {size: [0.05, 0.05, 0.05]}}
      pose: {position: [0.003, 0.002, 0.025]}
      material: {model: LINEAR_COROTATIONAL,
                 youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
probes:
  - {name: v, velocity: {body: block}}
  - {name: f, contact_force: {body: block, with: ground}}
)",
                        {{"$METHOD", method}, {"$G", List(gravity)}, {"$MU", Number(friction)}}));
}

TEST_P(ParticlesUnder, ABlockRestsWithItsWeight) {
  World world = LoadBlock(GetParam(), {0, 0, -kGravity}, 0.5);
  RunUntil(0.5, &world);
  double mean = 0;
  constexpr int kSteps = 20;
  for (int i = 0; i < kSteps; ++i) {
    ASSERT_TRUE(world.Step().ok());
    EXPECT_TRUE(world.report().converged);
    mean += ReadVector(world, "f").z() / kSteps;
  }
  EXPECT_NEAR(mean, 0.125 * kGravity, 0.01 * 0.125 * kGravity);
  EXPECT_LT(ReadVector(world, "v").norm(), 1e-3);
}

TEST_P(ParticlesUnder, ABlockSlidesAsARigidOneDoes) {
  constexpr double kMu = 0.3, kAngle = 30 * kPi / 180;
  World world =
      LoadBlock(GetParam(), kGravity * Vector3d(std::sin(kAngle), 0, -std::cos(kAngle)), kMu);
  RunUntil(0.3, &world);
  const double start = ReadVector(world, "v").x();
  RunUntil(0.6, &world);
  const double acceleration = (ReadVector(world, "v").x() - start) / 0.3;
  const double expected = kGravity * (std::sin(kAngle) - kMu * std::cos(kAngle));
  EXPECT_NEAR(acceleration, expected, 0.01 * expected);
}

INSTANTIATE_TEST_SUITE_P(Methods, ParticlesUnder,
                         testing::Values("convex", "corrective", "nonsmooth", "smooth"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace pliant::physics
