// Springs that clients command on bodies act as their formulas say, by the methods convex,
// corrective and nonsmooth; invalid commands are refused.

#include "physics/world/body_motion.h"
#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kH = 0.01;  // [s]

class CommandsOf : public testing::TestWithParam<const char*> {
 protected:
  // A ball of 2 kg and a soft cube of 1 kg, without gravity.
  World LoadBodies() {
    return LoadWorld(Fill(R"(
gravity: [0, 0, 0]
method: {$METHOD: {}}
bodies:
  - {name: ball, rigid: {motion: FREE, mass: 2, pose: {position: [0.3, 0.2, 0.1]},
      shapes: [{sphere: {radius: 0.05}}]}}
  - name: cube
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [1, 0, 0]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
      damping: {beta: 0}
)",
                          {{"$METHOD", GetParam()}}));
  }
};

// Implicit Euler on m ẍ = −k x − d ẋ, in closed form for each step.
TEST_P(CommandsOf, SpringMovesABodyAsImplicitEulerDoes) {
  World world = LoadBodies();
  const double m = 2, k = 300, d = 2 * std::sqrt(k * m);
  const Vector3d anchor(0.1, 0.5, -0.2);
  Vector3d x = Vector3d(0.3, 0.2, 0.1) - anchor, v = Vector3d::Zero();
  for (int step = 0; step < 100; ++step) {
    Inputs inputs;
    inputs.springs.push_back({.body = 0, .p_WA = anchor, .stiffness = k, .damping = d});
    ASSERT_TRUE(world.Step(inputs).ok());
    v = (v - kH * k / m * x) / (1 + kH * d / m + kH * kH * k / m);
    x += kH * v;
    const Vector3d p = CalcBodyPose(world.model(), world.state(), 0).p;
    // a step ends within its tolerance, 1e-6 of the momentum
    EXPECT_LT((p - anchor - x).norm(), 1e-5) << step;
  }
  EXPECT_LT(x.norm(), 1e-3);
}

TEST_P(CommandsOf, SpringOfAnyStiffnessIsStable) {
  World world = LoadBodies();
  const Vector3d anchor(0.3, 0.2, 0.6);
  for (int step = 0; step < 50; ++step) {
    Inputs inputs;
    inputs.springs.push_back({.body = 0, .p_WA = anchor, .stiffness = 1e9, .damping = 1e3});
    ASSERT_TRUE(world.Step(inputs).ok());
    EXPECT_LT((CalcBodyPose(world.model(), world.state(), 0).p - anchor).norm(), 0.51);
  }
  EXPECT_LT((CalcBodyPose(world.model(), world.state(), 0).p - anchor).norm(), 1e-3);
}

// A spring that is stretched far pulls with its limit along its own direction, at a point of a
// rigid body and at a vertex of a soft one.
TEST_P(CommandsOf, SpringPullsWithItsForceLimitAtMost) {
  World world = LoadBodies();
  const double force = 0.5;
  const Vector3d direction = Vector3d(1, -2, 2) / 3;
  for (int step = 0; step < 20; ++step) {
    Inputs inputs;
    for (const int body : {0, 1}) {
      inputs.springs.push_back({.body = body,
                                .node = body == 0 ? -1 : 3,
                                .p_WA = 1e4 * direction,
                                .stiffness = 50,
                                .damping = 1,
                                .force_limit = force});
    }
    ASSERT_TRUE(world.Step(inputs).ok());
  }
  for (const auto& [body, mass] : {std::pair{0, 2.0}, std::pair{1, 1.0}}) {
    const Vector3d v = CalcCenterOfMassVelocity(world.model(), world.state(), body);
    EXPECT_LT((v - 20 * kH * force / mass * direction).norm(), 2e-4 * v.norm()) << body;
  }
}

TEST_P(CommandsOf, SpringWakesWhatSleeps) {
  World world = LoadBodies();
  RunUntil(1, &world);
  ASSERT_EQ(world.report().asleep, 2);
  Inputs inputs;
  inputs.springs.push_back({.body = 0, .p_WA = Vector3d(0, 0, 1), .stiffness = 10, .damping = 1});
  ASSERT_TRUE(world.Step(inputs).ok());
  EXPECT_EQ(world.report().asleep, 1);
}

INSTANTIATE_TEST_SUITE_P(Methods, CommandsOf, testing::Values("convex", "corrective", "nonsmooth"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Commands, ThatThePhysicsCannotFollowAreRefused) {
  World world = LoadWorld(R"(
bodies:
  - {name: ball, rigid: {motion: FREE, mass: 2, shapes: [{sphere: {radius: 0.05}}]}}
  - name: cube
    deformable:
      mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}
      pose: {position: [1, 0, 0]}
      material: {youngs_modulus: 1.0e5, poissons_ratio: 0.3, density: 1000}
      activations: [{name: swell}]
)");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refuse = [&](const Inputs& inputs, const char* text) {
    const State before = world.state();
    const absl::Status status = world.Step(inputs);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_NE(status.message().find(text), std::string::npos) << status;
    EXPECT_EQ(HashState(world.state()), HashState(before));
  };
  const auto refuse_spring = [&](const Inputs::PointSpring& spring, const char* text) {
    Inputs inputs;
    inputs.springs.push_back(spring);
    refuse(inputs, text);
  };
  refuse_spring({.body = 0}, "a stiffness or damping above 0");
  refuse_spring({.body = 0, .stiffness = nan}, "\"ball\"");
  refuse_spring({.body = 0, .node = 0, .stiffness = 1}, "no vertex 0");
  refuse_spring({.body = 1, .node = 1000, .stiffness = 1}, "no vertex 1000");
  refuse_spring({.body = 1, .stiffness = 1}, "has no vertex; it is deformable");
  refuse_spring({.body = 2, .stiffness = 1}, "body 2");
  Inputs inputs;
  inputs.gains.push_back({1, 1, 1, 1});
  refuse(inputs, "actuator 1");
  inputs.gains = {{0, 0, 1, 1}};
  refuse(inputs, "activation");
  inputs.gains.clear();
  inputs.holds.push_back({0, 0});
  refuse(inputs, "activation");
  inputs.holds.clear();
  inputs.drives = {nan};
  refuse(inputs, "drives");
}

}  // namespace
}  // namespace pliant::physics
