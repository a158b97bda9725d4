// A tennis ball on the ground (larionov2023 §V-C1).

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {
namespace {

constexpr double kAtmospherePa = 101325;
constexpr double kRadius = 0.0335, kStart = 0.0355;  // of the ball; height where it starts [m]
constexpr double kStep = 2.5e-4;                     // [s]

// Height to which a ball rebounds that falls from 2.54 m [m], from its speed after the bounce. The
// run starts 2 mm above the ground, at the speed of the fall.
double CalcRebound(const std::string& integrator, double gauge_pressure,
                   std::vector<std::string> overrides = {}, double time_step = kStep) {
  const double speed = std::sqrt(2 * kGravity * (2.54 - kStart));
  overrides.push_back(absl::StrCat("bodies[1].deformable.pose.position=[0, 0, ", kStart, "]"));
  overrides.push_back(absl::StrCat("bodies[1].deformable.velocity={linear: [0, 0, ", -speed, "]}"));
  overrides.push_back(absl::StrCat("method.smooth.integrator=", integrator));
  overrides.push_back(absl::StrCat("constraints[0].volume.gauge_pressure=", gauge_pressure));
  overrides.push_back(absl::StrCat("time_step=", time_step));
  World world = LoadShipped("tennis_ball_drop", overrides);
  RunUntil(0.014, &world);
  const double v = ReadVector(world, "ball_velocity").z();
  EXPECT_GT(v, 0);
  return ReadVector(world, "ball_position").z() - kRadius + v * v / (2 * kGravity);
}

// The rules of tennis require a rebound of 1.35 to 1.47 m. In an empty ball the rubber, which
// dissipates, stores more of the energy.
TEST(TennisBallLong, BouncesAsARealOneAndHigherWithPressure) {
  const double full = CalcRebound("SDIRK2", kAtmospherePa);
  EXPECT_GT(full, 1.35);
  EXPECT_LT(full, 1.47);
  EXPECT_GT(full, 1.02 * CalcRebound("SDIRK2", 0));
}

TEST(TennisBallLong, BouncesAsHighAtHalfTheStep) {
  const double rebound = CalcRebound("SDIRK2", kAtmospherePa);
  EXPECT_NEAR(CalcRebound("SDIRK2", kAtmospherePa, {}, kStep / 2), rebound, 0.005 * rebound);
}

// The order is the same with dissipation in the rubber and without.
TEST(TennisBallLong, BouncesHigherWhereIntegratorsDissipateLess) {
  for (const char* beta : {"1.7e-4", "0"}) {
    const std::vector<std::string> damped = {
        absl::StrCat("bodies[1].deformable.damping.beta=", beta)};
    const double bdf2 = CalcRebound("BDF2", kAtmospherePa, damped);
    EXPECT_GT(CalcRebound("SDIRK2", kAtmospherePa, damped), bdf2) << "beta " << beta;
    EXPECT_GT(bdf2, CalcRebound("BE", kAtmospherePa, damped)) << "beta " << beta;
  }
}

}  // namespace
}  // namespace pliant::physics
