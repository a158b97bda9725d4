// Zero friction, and the largest coefficient that each method supports: a million, or ten thousand
// for the nonsmooth method.

#include <tuple>

#include "tests/validation/friction/friction_scenes.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// The nonsmooth method clamps friction to this value (physics/stepping/nonsmooth_stepper.cc).
constexpr double kWidestNonsmoothCone = 1e4;

World LoadCubeOnSlope(bool is_soft, const std::string& method, double degrees, double friction) {
  return LoadWorld(Fill(R"(
time_step: 0.005
sleeping: false
method: {$METHOD}
contact: {friction: $MU}
bodies:)",
                        {{"$METHOD", method}, {"$MU", Number(friction)}}) +
                   CubeOnSlope(is_soft, degrees * kPi / 180) + R"(
probes:
  - {name: v, velocity: {body: cube}}
  - {name: p, position: {body: cube}}
)");
}

// rigid or soft, method at its default budget
class ExtremeFriction : public ::testing::TestWithParam<std::tuple<bool, const char*>> {
 protected:
  World Load(double degrees, double friction) const {
    return LoadCubeOnSlope(is_soft(), method(), degrees, friction);
  }
  bool is_soft() const { return std::get<0>(GetParam()); }
  std::string method() const { return std::get<1>(GetParam()); }
  double largest_friction() const {
    return method().starts_with("nonsmooth") ? kWidestNonsmoothCone : 1e6;
  }
  // Steps of a run that may not converge. Only the corrective method on a soft cube misses some,
  // five as measured, while the cube settles with a cone that is nearly a half-space.
  int may_miss() const { return is_soft() && method().starts_with("corrective") ? 5 : 0; }
  // Steps until time t.
  void Run(double t, World* world) const {
    EXPECT_LE(RunAndCountMissed(t, world), may_miss());
    for (const double x : world->state().v) ASSERT_TRUE(std::isfinite(x));
  }
};

TEST_P(ExtremeFriction, OfNothingLetsASlopeAccelerateFreely) {
  constexpr double kDegrees = 20, kAngle = kDegrees * kPi / 180;
  World world = Load(kDegrees, 0);
  Run(0.5, &world);
  const double before = ReadVector(world, "v").dot(Downhill(kAngle));
  Run(1, &world);
  const double after = ReadVector(world, "v").dot(Downhill(kAngle));
  const double expected = kGravity * std::sin(kAngle);
  EXPECT_NEAR((after - before) / 0.5, expected, 1e-3 * expected);
}

TEST_P(ExtremeFriction, OfTheLargestHoldsOnASteepSlope) {
  // just below the angle at which it tips over
  constexpr double kDegrees = 40;
  World world = Load(kDegrees, largest_friction());
  const Vector3d start = ReadVector(world, "p");
  Run(0.5, &world);
  const Vector3d settled = ReadVector(world, "p");
  // it falls by a tenth of a millimetre; a soft cube also leans and sinks under its weight
  EXPECT_LE((settled - start).norm(), is_soft() ? 2e-3 : 2e-4);
  Run(1, &world);
  EXPECT_LE((ReadVector(world, "p") - settled).norm(), 1e-5);
}

TEST_P(ExtremeFriction, ThatASidewaysPushMeets) {
  for (const double friction : {0.0, largest_friction()}) {
    World world = Load(0, friction);
    Inputs inputs;
    inputs.forces.resize(1);
    inputs.forces[0].body = FindBody(world.model(), "cube");
    inputs.forces[0].force_W.x() = 0.4 * kGravity;  // it tips at kGravity
    Run(0.2, &world);
    const double start = ReadVector(world, "p").x(), v0 = ReadVector(world, "v").x();
    int missed = 0;
    for (int step = 0; step < 100; ++step) {
      ASSERT_TRUE(world.Step(inputs).ok());
      missed += !world.report().converged;
    }
    EXPECT_LE(missed, may_miss()) << friction;
    if (friction == 0) {
      EXPECT_NEAR(ReadVector(world, "v").x() - v0, 0.4 * kGravity * 0.5, 2e-3);
    } else {
      EXPECT_NEAR(ReadVector(world, "p").x(), start, is_soft() ? 2e-4 : 1e-5);
    }
  }
}

// A separated body keeps its velocity, however fast it slid.
TEST_P(ExtremeFriction, OfTheLargestReleasesWhatSeparates) {
  World world = Load(0, largest_friction());
  Run(0.1, &world);
  Inputs inputs;
  inputs.forces.resize(1);
  inputs.forces[0].body = FindBody(world.model(), "cube");
  // pulled up and sideways for 50 ms
  inputs.forces[0].force_W = {20, 0, 40};
  for (int step = 0; step < 10; ++step) ASSERT_TRUE(world.Step(inputs).ok());
  const Vector3d v = ReadVector(world, "v");
  EXPECT_NEAR(v.z(), (40 - kGravity) * 0.05, 0.2);
  EXPECT_NEAR(v.x(), 20 * 0.05, 0.2);
  for (int step = 0; step < 20; ++step) ASSERT_TRUE(world.Step().ok());
  EXPECT_NEAR(ReadVector(world, "v").x(), v.x(), 0.02);
}

// Larger friction changes no bit, so the clamp is at the constant above.
TEST(NonsmoothFriction, IsTakenForTenThousandWhereItIsMore) {
  const auto run = [](double friction) {
    World world = LoadCubeOnSlope(false, "nonsmooth: {}", 40, friction);
    EXPECT_EQ(RunAndCountMissed(0.2, &world), 0);
    return HashState(world.state());
  };
  EXPECT_EQ(run(1e6), run(kWidestNonsmoothCone));
  EXPECT_NE(run(0.9 * kWidestNonsmoothCone), run(kWidestNonsmoothCone));
}

INSTANTIATE_TEST_SUITE_P(Methods, ExtremeFriction,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values("convex: {}", "corrective: {}",
                                                              "nonsmooth: {}",
                                                              "nonsmooth: {coordinates: MAXIMAL}")),
                         [](const auto& info) {
                           std::string name = std::get<0>(info.param) ? "Soft_" : "Rigid_";
                           for (const char c : std::string(std::get<1>(info.param)))
                             if (c >= 'A' && c <= 'z') name += c;
                           return name;
                         });

}  // namespace
}  // namespace pliant::physics
