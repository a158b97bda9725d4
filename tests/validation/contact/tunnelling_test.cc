#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kRadius = 0.005;  // of the ball [m]

// A ball that flies at a sheet without gravity. The sheet is 2 mm thick, 0.6 m long for grazing
// impacts, and either rigid and fixed, or soft and clamped all around. The ball is rigid or soft.
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
    rigid: {motion: FREE, density: 1000, pose: {position: $P}, velocity: {linear: $V},
            shapes: [{sphere: {radius: 0.005}}]})";
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

// Holds for any phase of the step at which the ball arrives.
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
    // its centre stays above the midplane of the sheet, as long as it is over the sheet
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

// A wedge deflects the ball within one step towards a sheet that was not in its path at the start
// of the step.
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
    rigid: {motion: FIXED, pose: {position: [0.029, 0, 0.059], rpy_degrees: [0, 45, 0]},
            shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}
  - name: ball
    rigid: {motion: FREE, density: 1000, pose: {position: [-0.04, 0, 0.02]},
            velocity: {linear: [10, 0, 0]},
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

// A boom of ten links of half a metre, whose joints turn about z. Only the last link has collision
// geometry.
std::string BoomText() {
  std::string text = "<robot name=\"boom\">\n  <link name=\"base\"/>\n";
  for (int i = 1; i <= 10; ++i) {
    absl::StrAppend(&text, "  <link name=\"link_", i,
                    "\">\n    <inertial><origin xyz=\"0.25 0 0\"/><mass value=\"1\"/>"
                    "<inertia ixx=\"1e-3\" iyy=\"0.02\" izz=\"0.02\" ixy=\"0\" ixz=\"0\" "
                    "iyz=\"0\"/></inertial>\n");
    if (i == 10) {
      absl::StrAppend(&text,
                      "    <collision><origin xyz=\"0.45 0 0\"/>"
                      "<geometry><box size=\"0.1 0.004 0.05\"/></geometry></collision>\n");
    }
    absl::StrAppend(&text, "  </link>\n  <joint name=\"joint_", i,
                    "\" type=\"continuous\">\n    <parent link=\"",
                    i == 1 ? std::string("base") : absl::StrCat("link_", i - 1),
                    "\"/><child link=\"link_", i, "\"/><origin xyz=\"", i == 1 ? "0" : "0.5",
                    " 0 0\"/><axis xyz=\"0 0 1\"/>\n  </joint>\n");
  }
  return text + "</robot>\n";
}

// Torques that give every joint of the straight boom 15 rad/s² during the first step of 10 ms, and
// are zero later.
std::string BoomScript() {
  std::string script;
  for (int joint = 1; joint <= 10; ++joint) {
    double torque = 0;
    for (int link = joint; link <= 10; ++link) {
      // link k has 15 k rad/s²; the acceleration of its middle sums over the joints before it
      const double middle = 0.5 * link - 0.25;
      double acceleration = 0;
      for (int before = 1; before <= link; ++before)
        acceleration += 15 * (middle - 0.5 * (before - 1));
      torque += acceleration * (middle - 0.5 * (joint - 1)) + 0.02 * 15 * link;
    }
    absl::StrAppend(&script, "  - {target: {joint: boom/joint_", joint,
                    "}, times: [0.01, 0.02], values: [", torque, ", 0]}\n");
  }
  return script;
}

// Every joint of the boom gains 0.15 rad/s in one step, by which a point at a metre from its axis
// moves less than 2 mm; the tip moves 41 mm, with a ball of 16 mm in its path.
TEST(Redetection, BoomWhoseJointRatesAddUpDoesNotPassABallUnseen) {
  const std::filesystem::path folder = PathOfTest("boom");
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "boom.urdf") << BoomText();
  for (const char* method : {"convex", "corrective", "nonsmooth"}) {
    const std::string file = (folder / absl::StrCat(method, ".yaml")).string();
    std::ofstream(file) << Fill(R"(
name: boom
time_step: 0.01
gravity: [0, 0, 0]
method: {$METHOD: {}}
contact: {friction: 0}
bodies:
  - name: ball
    rigid: {motion: FREE, mass: 0.1, inertia: [2.56e-6, 2.56e-6, 2.56e-6, 0, 0, 0],
            pose: {position: [4.95, 0.02, 0]},
            shapes: [{sphere: {radius: 0.008}}]}
robots:
  - {name: boom, file: boom.urdf, actuators: [{joint: ".*", torque: {}}]}
script:
$SCRIPT
probes:
  - {name: ball, position: {body: ball}}
  - {name: tip, position: {body: boom/link_10, point: [0.45, 0, 0]}}
)",
                                {{"$METHOD", method}, {"$SCRIPT", BoomScript()}});
    const SceneResult result = LoadSceneFile(file);
    for (const SceneMessage& message : result.messages) {
      if (message.error) ADD_FAILURE() << Format(message);
    }
    ASSERT_TRUE(result.ok());
    World world(result.model);
    double impulse = 0;
    for (int step = 0; step < 3; ++step) {
      const absl::Status status = world.Step();
      ASSERT_TRUE(status.ok()) << status.message();
      for (const ContactForce& contact : world.report().contacts)
        impulse += contact.impulse_W.norm();
      EXPECT_GT(ReadVector(world, "ball").y(), ReadVector(world, "tip").y()) << method;
    }
    // the tip has moved and hit the ball
    EXPECT_GT(ReadVector(world, "tip").y(), 0.02) << method;
    EXPECT_GT(impulse, 0) << method;
  }
}

// Speculative contacts exert no ghost forces: a ball that passes at more than the margin feels
// nothing.
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
    rigid: {motion: FREE, density: 1000, pose: {position: [-0.13, 0, 0.0125]},
            velocity: {linear: [10, 0, 0]}, shapes: [{sphere: {radius: 0.005}}]}
probes:
  - {name: velocity, velocity: {body: ball}}
)",
                               {}));
  for (int step = 0; step < 4; ++step) ASSERT_TRUE(world.Step().ok());
  EXPECT_EQ(ReadVector(world, "velocity"), Vector3d(10, 0, 0));
}

// A cylinder would leave a plate on the far side within the step. It touches only the side by which
// it enters.
TEST(SpeculativeContact, BodyDoesNotMeetTheFarSideOfAPlate) {
  World world = LoadWorld(R"(
name: plate
time_step: 0.02
bodies:
  - {name: plate, rigid: {motion: FIXED, shapes: [{box: {size: [1, 1, 0.2]}}]}}
  - name: body
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.13001]},
            velocity: {linear: [0, 0, -13.05]}, shapes: [{cylinder: {radius: 0.04, length: 0.06}}]}
)");
  ASSERT_TRUE(world.Step().ok());
  ASSERT_FALSE(world.report().contacts.empty());
  for (const ContactForce& contact : world.report().contacts)
    EXPECT_GT(contact.normal_W.z(), 0) << contact.gap;
}

// A ball shot at a wall is stopped, not thrown back, although it may still travel the remaining
// distance in the step of impact.
TEST(SpeculativeContact, HeadOnImpactLosesItsSpeedWithinThreeSteps) {
  World world = LoadWorld(SheetScene("convex", false, false, {0, 0, 0.15}, {0, 0, -10}));
  for (int step = 0; step < 5; ++step) ASSERT_TRUE(world.Step().ok());
  // it may rebound with 1/(4π²) of its speed, since its penetration is resolved over two steps
  EXPECT_LT(std::abs(ReadVector(world, "velocity").z()), 0.03 * 10);
}

}  // namespace
}  // namespace pliant::physics
