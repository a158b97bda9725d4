// Impacts in two hundred phases of a step: the part of it that has passed when bodies meet.

#include <string>
#include <tuple>

#include "tests/validation/contact/falling_body.h"

namespace pliant::physics {
namespace {

constexpr int kPhases = 200;
constexpr double kSpeeds[] = {0.1, 1, 3, 10, 20};      // [m/s]
constexpr double kTimeSteps[] = {0.001, 0.005, 0.02};  // [s]

using BodyCase = std::tuple<std::string, int>;

class ImpactInAnyPhase : public ::testing::TestWithParam<BodyCase> {};

TEST_P(ImpactInAnyPhase, NeitherOverlapsNorRebounds) {
  const auto& [method, index] = GetParam();
  for (const std::string ground : {kHalfSpaceGround, kBoxGround, kMeshGround})
    for (const double speed : kSpeeds)
      for (const double h : kTimeSteps)
        TestImpacts(method, kFallingBodies[index], ground, speed, h, kPhases);
}

// Two free bodies meet head-on, without gravity.
TEST_P(ImpactInAnyPhase, OfTwoBodiesDoesNotSeparateThem) {
  const auto& [method, index] = GetParam();
  const FallingBody& body = kFallingBodies[index];
  for (const double speed : kSpeeds) {
    for (const double h : kTimeSteps) {
      for (int phase = 0; phase < kPhases; ++phase) {
        const double apart = (1.0 + (phase + 0.5) / kPhases) * h * speed;
        World world = LoadWorld(Fill(R"(
name: head-on
time_step: $H
gravity: [0, 0, 0]
sleeping: false
method: {$METHOD: {}}
bodies:
  - {name: lower, $BODY, pose: {position: [0, 0, -$Z]}, velocity: {linear: [0, 0, $V]}}}
  - {name: upper, $BODY, pose: {position: [0, 0, $Z]}, velocity: {linear: [0, 0, -$V]}}}
probes:
  - {name: lower, velocity: {body: lower}}
  - {name: upper, velocity: {body: upper}}
  - {name: overlap, penetration: {}}
)",
                                     {{"$METHOD", method},
                                      {"$BODY", body.body},
                                      {"$H", Number(h)},
                                      {"$Z", Number(body.height + 0.5 * apart)},
                                      {"$V", Number(0.5 * speed)}}));
        for (int s = 0; s < 6; ++s) {
          ASSERT_TRUE(world.Step().ok());
          ASSERT_TRUE(world.report().converged);
          ASSERT_LT(Read(world, "overlap").front(), 1e-5)
              << "step " << s << ", phase " << phase << ", " << speed << " m/s, h = " << h;
          ASSERT_LT(ReadVector(world, "upper").z() - ReadVector(world, "lower").z(),
                    std::max(kMinReboundSpeed, 1e-4 * speed))
              << "step " << s << ", phase " << phase << ", " << speed << " m/s, h = " << h;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, ImpactInAnyPhase,
                         ::testing::Combine(::testing::Values("convex", "corrective", "nonsmooth"),
                                            ::testing::Range(0, 6)),
                         [](const auto& info) {
                           return std::get<0>(info.param) +
                                  kFallingBodies[std::get<1>(info.param)].name;
                         });

class SoftImpactInAnyPhase : public ::testing::TestWithParam<BodyCase> {};

TEST_P(SoftImpactInAnyPhase, StaysAboveTheGround) {
  const auto& [method, index] = GetParam();
  for (const std::string ground : {kHalfSpaceGround, kBoxGround})
    for (const double speed : kSpeeds)
      for (const double h : kTimeSteps)
        TestSoftImpacts(method, kFallingSoftBodies[index], ground, speed, h, kPhases);
}

// Under convex, one node of a ball bears all of the impact force and sinks in by up to 0.15 mm, or
// 6 um with `beta: 0.3`: regularised contacts of light nodes are soft.
INSTANTIATE_TEST_SUITE_P(Methods, SoftImpactInAnyPhase,
                         ::testing::Values(BodyCase("convex", 0), BodyCase("corrective", 0),
                                           BodyCase("corrective", 1), BodyCase("nonsmooth", 0),
                                           BodyCase("nonsmooth", 1)),
                         [](const auto& info) {
                           return std::get<0>(info.param) +
                                  kFallingSoftBodies[std::get<1>(info.param)].name;
                         });

class Landing : public ::testing::TestWithParam<std::string> {};

// A ball that is thrown at 2 m/s and lands on a rough ground rolls on. Friction in the impact and
// after it acts at the ball's lowest point, about which nothing turns the ball: it ends with 5/7 of
// its speed, whenever in a step it arrives.
TEST_P(Landing, TurnsTheBallAlikeInEveryPhase) {
  constexpr double kRadius = 0.05, kThrown = 2, kRolling = kThrown * 5 / 7, kEnd = 0.5;
  for (const double h : {0.001, 0.005, 0.01, 0.02}) {
    for (const double falling : {1.0, 3.0, 10.0}) {
      double least = 1e9, largest = -1e9;
      for (int phase = 0; phase < kPhases; ++phase) {
        // it arrives at time T with the given speed
        const double T = 0.2 + (phase + 0.5) / kPhases * h, start = falling - kGravity * T,
                     z = kRadius + start * T + 0.5 * kGravity * T * T;
        World world = LoadWorld(Fill(R"(
name: landing
time_step: $H
sleeping: false
method: {$METHOD: {}}
contact: {friction: 0.3}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: ball
    rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.05}}],
            pose: {position: [0, 0, $Z]}, velocity: {linear: [2, 0, $V]}}
probes:
  - {name: position, position: {body: ball}}
)",
                                     {{"$METHOD", GetParam()},
                                      {"$H", Number(h)},
                                      {"$Z", Number(z)},
                                      {"$V", Number(-start)}}));
        while (world.state().time < kEnd - 1e-9) ASSERT_TRUE(world.Step().ok());
        const auto v = world.model().Velocities(world.state(), world.model().bodies[1].block);
        const double spin = v[1];
        ASSERT_NEAR(spin, kRolling / kRadius, 3e-3 * kRolling / kRadius)
            << "phase " << phase << ", " << falling << " m/s, h = " << h;
        // a ball that lands later is fast for longer
        const double x = ReadVector(world, "position").x() - (kThrown - kRolling) * (T - 0.2);
        least = std::min(least, x);
        largest = std::max(largest, x);
      }
      // the rest of the step in which it arrives passes at the speed before or after
      EXPECT_LT(largest - least, 1e-3 * largest + h * (kThrown - kRolling))
          << falling << " m/s, h = " << h;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Landing, ::testing::Values("convex", "corrective", "nonsmooth"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pliant::physics
