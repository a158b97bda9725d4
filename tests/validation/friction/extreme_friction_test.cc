// Friction of nothing and of a million, by every method.

#include <algorithm>
#include <tuple>

#include "tests/validation/friction/friction_scenes.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kMillion = 1e6;

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

class ExtremeFriction : public ::testing::TestWithParam<std::tuple<bool, const char*>> {
 protected:
  World Load(double degrees, double friction) const {
    return LoadCubeOnSlope(std::get<0>(GetParam()), std::get<1>(GetParam()), degrees, friction);
  }
  bool is_soft() const { return std::get<0>(GetParam()); }
  // Steps on until time t. All steps converge; but while a soft cube settles on a cone that is all but a half-space, Gauss-Seidel
  // may go round in one or two of them, which the report says.
  void Run(double t, World* world) const {
    const bool may_miss = is_soft() && world->model().method.kind == MethodKind::kCorrective;
    int missed = 0;
    while (world->state().time < t - 1e-9) {
      ASSERT_TRUE(world->Step().ok());
      missed += !world->report().converged;
    }
    EXPECT_LE(missed, may_miss ? 2 : 0);
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

TEST_P(ExtremeFriction, OfAMillionHoldsOnASteepSlope) {
  // just not so steep that it tips over
  constexpr double kDegrees = 40;
  World world = Load(kDegrees, kMillion);
  const Vector3d start = ReadVector(world, "p");
  Run(0.5, &world);
  const Vector3d settled = ReadVector(world, "p");
  // it falls by a tenth of a millimetre, and a soft one leans and sinks as far as its weight has it
  EXPECT_LE((settled - start).norm(), is_soft() ? 2e-3 : 2e-4);
  Run(1, &world);
  EXPECT_LE((ReadVector(world, "p") - settled).norm(), 1e-5);
}

TEST_P(ExtremeFriction, ThatASidewaysPushMeets) {
  for (const double friction : {0.0, kMillion}) {
    World world = Load(0, friction);
    Inputs inputs;
    inputs.forces.resize(1);
    inputs.forces[0].body = FindBody(world.model(), "cube");
    inputs.forces[0].force_W.x() = 0.4 * kGravity;  // half of it tips
    Run(0.2, &world);
    const double start = ReadVector(world, "p").x(), v0 = ReadVector(world, "v").x();
    for (int step = 0; step < 100; ++step) {
      ASSERT_TRUE(world.Step(inputs).ok());
      ASSERT_TRUE(world.report().converged) << friction << ", step " << step;
    }
    if (friction == 0) {
      EXPECT_NEAR(ReadVector(world, "v").x() - v0, 0.4 * kGravity * 0.5, 2e-3);
    } else {
      EXPECT_NEAR(ReadVector(world, "p").x(), start, is_soft() ? 2e-4 : 1e-5);
    }
  }
}

// What has taken off flies on, however fast it slid.
TEST_P(ExtremeFriction, OfAMillionLetsGoOfWhatTakesOff) {
  World world = Load(0, kMillion);
  Run(0.1, &world);
  Inputs inputs;
  inputs.forces.resize(1);
  inputs.forces[0].body = FindBody(world.model(), "cube");
  // pulled up and along for 50 ms
  inputs.forces[0].force_W = {20, 0, 40};
  for (int step = 0; step < 10; ++step) ASSERT_TRUE(world.Step(inputs).ok());
  const Vector3d v = ReadVector(world, "v");
  EXPECT_NEAR(v.z(), (40 - kGravity) * 0.05, 0.2);
  EXPECT_NEAR(v.x(), 20 * 0.05, 0.2);
  for (int step = 0; step < 20; ++step) ASSERT_TRUE(world.Step().ok());
  EXPECT_NEAR(ReadVector(world, "v").x(), v.x(), 0.02);
}

INSTANTIATE_TEST_SUITE_P(
    Methods, ExtremeFriction,
    ::testing::Combine(::testing::Bool(),
                       ::testing::Values("convex: {}", "corrective: {sweeps: 300}", "nonsmooth: {}",
                                         "nonsmooth: {coordinates: MAXIMAL}")),
    [](const auto& info) {
      std::string name = std::get<0>(info.param) ? "Soft_" : "Rigid_";
      for (const char c : std::string(std::get<1>(info.param)))
        if (c >= 'A' && c <= 'z') name += c;
      return name;
    });

}  // namespace
}  // namespace pliant::physics
