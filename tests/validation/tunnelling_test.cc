#include <string>
#include <tuple>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kRadius = 0.005;  // of the ball [m]

// A ball that flies at a sheet 2 mm thick, 0.6 m long for what grazes: rigid and fixed, or soft and clamped all around.
// Without gravity. The ball is rigid or soft too.
std::string SheetScene(const std::string& method, bool soft_ball, bool soft_sheet,
                       const Vector3d& position, const Vector3d& velocity) {
  const std::string sheet = soft_sheet ? R"(
    deformable:
      mesh: {box: {size: [0.6, 0.12, 0.002]}, edge_length: 0.012}
      material: {youngs_modulus: 1.0e6, poissons_ratio: 0.4, density: 1000}
      attachments:
        - {to: world, within: {box: {size: [0.02, 1, 0.01], pose: {position: [0.3, 0, 0]}}}}
        - {to: world, within: {box: {size: [0.02, 1, 0.01], pose: {position: [-0.3, 0, 0]}}}}
        - {to: world, within: {box: {size: [1, 0.02, 0.01], pose: {position: [0, 0.06, 0]}}}}
        - {to: world, within: {box: {size: [1, 0.02, 0.01], pose: {position: [0, -0.06, 0]}}}})"
                                       : R"(
    rigid: {motion: FIXED, shapes: [{box: {size: [0.6, 0.12, 0.002]}}]})";
  const std::string ball = soft_ball ? R"(
    deformable:
      mesh: {sphere: {radius: 0.005}, edge_length: 0.0025}
      pose: {position: $P}
      velocity: {linear: $V}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.4, density: 1000})"
                                     : R"(
    rigid: {motion: FREE, density: 1000, pose: {position: $P}, velocity: {linear: $V}, shapes: [{sphere: {radius: 0.005}}]})";
  return Fill(
      R"(
name: tunnel
time_step: 0.01
gravity: [0, 0, 0]
method: {$METHOD: {}}
bodies:
  - name: sheet$SHEET
  - name: ball)" +
          ball + R"(
probes:
  - {name: position, position: {body: ball}}
  - {name: velocity, velocity: {body: ball}}
)",
      {{"$METHOD", method}, {"$SHEET", sheet}, {"$P", List(position)}, {"$V", List(velocity)}});
}

using Case = std::tuple<std::string, bool, bool, double, double, double>;

class Tunnelling : public ::testing::TestWithParam<Case> {};

// Whatever the phase of the step in which it arrives.
TEST_P(Tunnelling, BallNeverPassesASheetOfTwoMillimetres) {
  const auto& [method, soft_ball, soft_sheet, speed, degrees, steps_before] = GetParam();
  const double angle = degrees * kPi / 180;
  const SinCos turn = CalcSinCos(angle);
  const Vector3d velocity = speed * Vector3d(turn.sin, 0, -turn.cos);
  const Vector3d touching(-0.1, 0.0013, 0.001 + kRadius);
  World world = LoadWorld(SheetScene(method, soft_ball, soft_sheet,
                                     touching - 0.01 * steps_before * velocity, velocity));
  double impulse = 0;
  for (int step = 0; step < 25; ++step) {
    const absl::Status status = world.Step();
    ASSERT_TRUE(status.ok()) << status.message();
    for (const ContactForce& contact : world.report().contacts) impulse += contact.impulse_W.norm();
    const Vector3d p = ReadVector(world, "position");
    // its middle stays above the middle of the sheet, as long as it is above the sheet at all
    if (std::abs(p.x()) < 0.3 && std::abs(p.y()) < 0.06) {
      ASSERT_GT(p.z(), 0.0005) << "step " << step << ", at " << p.transpose();
    }
  }
  EXPECT_GT(impulse, 0);
}

INSTANTIATE_TEST_SUITE_P(Balls, Tunnelling,
                         ::testing::Combine(::testing::Values("convex", "corrective", "nonsmooth"),
                                            ::testing::Bool(), ::testing::Bool(),
                                            ::testing::Values(1.0, 10.0),
                                            ::testing::Values(0.0, 80.0),
                                            ::testing::Values(1.1, 1.5, 1.9)));

// A wedge turns the ball within one step, down through a sheet that was not in its way when the step began.
TEST(SpeculativeContact, BallThatAnImpactTurnsMeetsTheSheetThatItIsTurnedTo) {
  for (const char* method : {"convex", "corrective", "nonsmooth"}) {
    World world = LoadWorld(Fill(R"(
name: wedge
time_step: 0.01
method: {$METHOD: {}}
contact: {friction: 0}
bodies:
  - {name: sheet, rigid: {motion: FIXED, shapes: [{box: {size: [1, 1, 0.002]}}]}}
  - name: wedge
    rigid: {motion: FIXED, pose: {position: [0.029, 0, 0.059], rpy_degrees: [0, 45, 0]}, shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}
  - name: ball
    rigid: {motion: FREE, density: 1000, pose: {position: [-0.04, 0, 0.02]}, velocity: {linear: [10, 0, 0]},
            shapes: [{sphere: {radius: 0.005}}]}
probes: [{name: position, position: {body: ball}}]
)",
                                 {{"$METHOD", method}}));
    for (int step = 0; step < 10; ++step) {
      ASSERT_TRUE(world.Step().ok());
      ASSERT_GT(ReadVector(world, "position").z(), 0.0005) << method << ", step " << step;
    }
  }
}

// The contacts that a step looks ahead for are no ghosts: who passes by further off than the margin feels nothing.
TEST(SpeculativeContact, BallThatPassesByFeelsNothing) {
  for (const bool soft_sheet : {false, true}) {
    for (const double clearance : {0.0025, 0.01}) {
      World world = LoadWorld(SheetScene("convex", false, soft_sheet,
                                         {-0.4, 0, 0.001 + kRadius + clearance}, {10, 0, 0}));
      for (int step = 0; step < 8; ++step) {
        ASSERT_TRUE(world.Step().ok());
        EXPECT_TRUE(world.report().contacts.empty()) << clearance;
      }
      EXPECT_EQ(ReadVector(world, "velocity"), Vector3d(10, 0, 0));
    }
  }
}

TEST(SpeculativeContact, BallThatMissesAnotherFeelsNothing) {
  World world = LoadWorld(Fill(R"(
name: miss
time_step: 0.01
gravity: [0, 0, 0]
bodies:
  - name: post
    rigid: {motion: FIXED, shapes: [{sphere: {radius: 0.005}}]}
  - name: ball
    rigid: {motion: FREE, density: 1000, pose: {position: [-0.13, 0, 0.0125]}, velocity: {linear: [10, 0, 0]}, shapes: [{sphere: {radius: 0.005}}]}
probes:
  - {name: velocity, velocity: {body: ball}}
)",
                               {}));
  for (int step = 0; step < 4; ++step) ASSERT_TRUE(world.Step().ok());
  EXPECT_EQ(ReadVector(world, "velocity"), Vector3d(10, 0, 0));
}

// A ball shot at a wall is stopped, not thrown back: what it had to go in the last step it may still go.
TEST(SpeculativeContact, HeadOnImpactLosesItsSpeedWithinThreeSteps) {
  World world = LoadWorld(SheetScene("convex", false, false, {0, 0, 0.15}, {0, 0, -10}));
  for (int step = 0; step < 5; ++step) ASSERT_TRUE(world.Step().ok());
  // it may come back as fast as it sank in: 1/(4π²) of its speed, pushed out over two steps
  EXPECT_LT(std::abs(ReadVector(world, "velocity").z()), 0.03 * 10);
}

}  // namespace
}  // namespace pliant::physics
