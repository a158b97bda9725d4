#include <gtest/gtest.h>

#include "physics/rigid/joint_tree_block.h"
#include "physics/rigid/maximal_tree_block.h"
#include "physics/rigid/rigid_body_block.h"
#include "physics/stepping/stepper.h"
#include "tests/physics/rigid/sample_trees.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A method and the coordinates of its trees.
struct Way {
  MethodKind kind;
  bool is_maximal = false;
};

// All methods must pass; they differ only in how close to rigid they come.
class Constraints : public testing::TestWithParam<Way> {
 protected:
  Constraints() { Reset(); }
  void Reset() {
    model_ = Model();
    model_.method.kind = GetParam().kind;
    if (GetParam().is_maximal)
      model_.method.nonsmooth.coordinates = NonsmoothOptions::Coordinates::kMaximal;
    model_.time_step = 0.005;
    model_.robots.emplace_back().name = "robot";
    stepper_ = nullptr;
  }

  // Adds a tree whose links are bodies and whose joints have one velocity each.
  void AddTree(std::shared_ptr<const JointTree> tree, std::vector<double> q) {
    const int block = static_cast<int>(model_.blocks.size());
    std::vector<double> v(tree->num_velocities());
    JointTreeParameters parameters{tree, std::move(q), v};
    model_.blocks.push_back(GetParam().is_maximal ? MakeMaximalTreeBlock(std::move(parameters))
                                                  : MakeJointTreeBlock(std::move(parameters)));
    for (int i = 0; i < tree->num_links(); ++i) {
      RobotJoint joint;
      joint.block = block;
      joint.position = tree->position_start(i);
      joint.velocity = joint.channel = tree->velocity_start(i);
      joint.num_positions = joint.num_velocities = 1;
      joint.body = static_cast<int>(model_.bodies.size());
      model_.robots[0].joints.push_back(joint);
      Body body;
      body.block = block;
      body.frame = i;
      model_.bodies.push_back(body);
    }
  }
  void AddActuator(int joint, Actuator::Kind kind, double stiffness, double damping, double limit,
                   double target) {
    Actuator actuator;
    actuator.joint = joint;
    actuator.kind = kind;
    actuator.stiffness = stiffness;
    actuator.damping = damping;
    actuator.effort_limit = limit;
    actuator.initial_target = target;
    model_.actuators.push_back(actuator);
  }
  void Run(double duration) {
    if (stepper_ == nullptr) {
      model_.Finish();
      state_ = MakeInitialState(model_);
      stepper_ = MakeStepper(model_);
    }
    for (int k = 0; k < std::lround(duration / model_.time_step); ++k) {
      ASSERT_TRUE(stepper_->Step(inputs_, model_.time_step, &state_, &report_).ok());
      ASSERT_TRUE(report_.converged) << "step " << k << " residual " << report_.residual;
    }
  }

  Model model_;
  Inputs inputs_;
  State state_;
  StepReport report_;
  std::unique_ptr<Stepper> stepper_;
};
INSTANTIATE_TEST_SUITE_P(Method, Constraints,
                         testing::Values(Way{MethodKind::kConvex}, Way{MethodKind::kCorrective},
                                         Way{MethodKind::kNonsmooth},
                                         Way{MethodKind::kNonsmooth, true}),
                         [](const auto& info) {
                           return std::string(MethodName(info.param.kind)) +
                                  (info.param.is_maximal ? "_maximal" : "");
                         });

// Gravity torque of the horizontal rod about its hinge [N·m].
constexpr double kTorque = 1 * 9.81 * 0.25;

TEST_P(Constraints, PdDriveHoldsTheRodWhereItsSpringBalancesGravity) {
  AddTree(MakePendulum(1), {0});
  AddActuator(0, Actuator::Kind::kPosition, 100, 5, 1e9, 0.4);
  Run(5);
  const double q = state_.q[0];
  EXPECT_NEAR(100 * (0.4 - q), kTorque * std::sin(q), 1e-6);
  EXPECT_NEAR(report_.efforts[0], kTorque * std::sin(q), 1e-6);
}

TEST_P(Constraints, PdDriveIsStableForAnyGains) {
  AddTree(MakePendulum(1), {0});
  AddActuator(0, Actuator::Kind::kPosition, 1e9, 1e6, 1e12, 0.4);
  Run(5);
  EXPECT_NEAR(state_.q[0], 0.4, 1e-4);
}

TEST_P(Constraints, EffortIsClampedAtItsLimit) {
  AddTree(MakePendulum(1), {0});
  // half of the torque that lifts the rod to the horizontal, so it comes to rest at 30°
  AddActuator(0, Actuator::Kind::kPosition, 1e5, 100, 0.5 * kTorque, 1.5);
  AddActuator(0, Actuator::Kind::kVelocity, 0, 2, 1e9, 0);
  Run(20);
  EXPECT_NEAR(report_.efforts[0], 0.5 * kTorque, 1e-9);
  EXPECT_NEAR(state_.q[0], kPi / 6, 1e-3);
}

TEST_P(Constraints, TorqueDriveExertsItsTargetWithinItsLimit) {
  AddTree(MakePendulum(1), {0});
  AddActuator(0, Actuator::Kind::kEffort, 0, 0, 0.5, 0);
  AddActuator(0, Actuator::Kind::kVelocity, 0, 2, 1e9, 0);
  inputs_.actuators = {{0, 3.0}};
  Run(20);
  EXPECT_EQ(report_.efforts[0], 0.5);
  EXPECT_NEAR(std::sin(state_.q[0]), 0.5 / kTorque, 1e-4);
}

TEST_P(Constraints, VelocityDriveKeepsItsRate) {
  AddTree(MakePendulum(1), {0});
  AddActuator(0, Actuator::Kind::kVelocity, 0, 1e6, 1e9, 2);
  Run(1);
  // near-rigid: off by β²/4π² of the speed that gravity adds in a step, 1.5 g/L h
  EXPECT_NEAR(state_.v[0], 2, 0.0254 * 1.5 * 9.81 / 0.5 * model_.time_step);
  EXPECT_NEAR(state_.q[0], 2, 1e-2);
}

TEST_P(Constraints, LimitsStopTheJoint) {
  auto links = MakePendulum(1)->links();
  links[0].joint.lower = 0.5;
  links[0].joint.upper = 2;
  AddTree(std::make_shared<const JointTree>(std::move(links)), {1.5});
  for (int k = 0; k < 20; ++k) {
    Run(0.1);
    EXPECT_GT(state_.q[0], 0.5 - 1e-3);
  }
  EXPECT_NEAR(state_.q[0], 0.5, 1e-3);
}

TEST_P(Constraints, DryFrictionHoldsUpToItsLossAndThenSlips) {
  for (const double ratio : {0.9, 1.1}) {
    Reset();
    auto links = MakePendulum(1)->links();
    links[0].joint.friction_loss = kTorque / ratio;
    AddTree(std::make_shared<const JointTree>(std::move(links)), {0.5 * kPi});
    Run(1);
    if (ratio < 1) {
      // convex: creeps by σ w γ at most, 1e-3 of the speed that gravity adds in a step
      EXPECT_NEAR(state_.q[0], 0.5 * kPi, 1e-3 * 9.81 * 1.5 / 0.5 * model_.time_step * 1.1);
    } else {
      EXPECT_LT(state_.q[0], 0.5 * kPi - 0.1);
    }
  }
}

TEST_P(Constraints, CouplerKeepsItsRatio) {
  AddTree(MakePendulum(2), {0.6, 0.4});
  Constraint coupler;
  coupler.kind = Constraint::Kind::kCoupler;
  coupler.joints = {{0, 0, 1}, {0, 1, -2}};  // q0 − 2 q1 = −0.2
  coupler.offset = -0.2;
  model_.constraints.push_back(coupler);
  for (int k = 0; k < 20; ++k) {
    Run(0.1);
    EXPECT_NEAR(state_.q[0] - 2 * state_.q[1], -0.2, 2e-3);
  }
}

TEST_P(Constraints, BallClosesALoop) {
  // a parallelogram: cranks hinged at (0, 0) and (0.5, 0), and a coupler between their ends
  AddTree(MakePendulum(2), {0.0, -0.5 * kPi});
  auto other = MakePendulum(1)->links();
  other[0].joint.X_PF.p = {0.5, 0, 0};
  AddTree(std::make_shared<const JointTree>(std::move(other)), {0.0});
  Constraint ball;
  ball.kind = Constraint::Kind::kBall;
  ball.body_a = 1;
  ball.body_b = 2;
  ball.X_AF.p = ball.X_BG.p = {0, 0, -0.5};
  model_.constraints.push_back(ball);
  inputs_.joint_forces = {{0, 0, 1.0}};
  for (int k = 0; k < 10; ++k) {
    Run(0.1);
    const Vector3d a = CalcBodyPose(model_, state_, 1) * ball.X_AF.p;
    const Vector3d b = CalcBodyPose(model_, state_, 2) * ball.X_BG.p;
    EXPECT_LT((a - b).norm(), 2e-3);
  }
  // both cranks turn by the same angle
  EXPECT_NEAR(state_.q[0], model_.Positions(state_, 1)[0], 1e-2);
}

TEST_P(Constraints, WeldHoldsAFreeBodyToALink) {
  AddTree(MakePendulum(1), {0.5});
  RigidBodyParameters box;
  box.mass = 1;
  box.inertia = 0.01 * Eigen::Matrix3d::Identity();
  Body body;
  body.block = 1;
  model_.blocks.push_back(MakeFreeBodyBlock(box));
  model_.bodies.push_back(body);
  model_.Finish();
  const RigidTransform X_WA = CalcBodyPose(model_, MakeInitialState(model_), 0);
  Constraint weld;
  weld.body_a = 0;
  weld.body_b = 1;
  weld.X_AF = X_WA.Inverse();
  model_.constraints.push_back(weld);
  for (int k = 0; k < 10; ++k) {
    Run(0.1);
    const RigidTransform error =
        (CalcBodyPose(model_, state_, 0) * weld.X_AF).Inverse() * CalcBodyPose(model_, state_, 1);
    EXPECT_LT(error.p.norm(), 2e-3);
    EXPECT_LT((error.R - Eigen::Matrix3d::Identity()).norm(), 2e-2);
  }
}

TEST_P(Constraints, DistanceKeepsABobOnItsCircle) {
  RigidBodyParameters bob;
  bob.mass = 1;
  bob.inertia = 0.01 * Eigen::Matrix3d::Identity();
  bob.X_WB.p = {1, 0, 0};
  Body body;
  body.block = 0;
  model_.blocks.push_back(MakeFreeBodyBlock(bob));
  model_.bodies.push_back(body);
  Constraint distance;
  distance.kind = Constraint::Kind::kDistance;
  distance.body_b = 0;
  distance.length = 1;
  model_.constraints.push_back(distance);
  for (int k = 0; k < 20; ++k) {
    Run(0.1);
    EXPECT_NEAR(CalcBodyPose(model_, state_, 0).p.norm(), 1, 5e-3);
  }
}

}  // namespace
}  // namespace pliant::physics
