#include <gtest/gtest.h>

#include "physics/control/controllers.h"
#include "physics/rigid/joint_tree_block.h"
#include "tests/physics/block_steps.h"
#include "tests/physics/rigid/sample_trees.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kStep = 0.01;

// An arm whose drives follow their targets exactly, so that only the controller is tested.
class DifferentialIkTest : public testing::Test {
 protected:
  explicit DifferentialIkTest(std::vector<double> q = {0.2, 0.6, 0.1, 1.2, 0.3, 0.8, 0.1}) {
    tree_ = MakeArm();
    model_.blocks.push_back(MakeJointTreeBlock({tree_, q, std::vector<double>(7)}));
    Robot robot;
    Controller controller;
    for (int i = 0; i < 7; ++i) {
      const Joint& joint = tree_->links()[i].joint;
      RobotJoint moving;
      moving.block = 0;
      moving.position = moving.velocity = moving.channel = i;
      moving.num_positions = moving.num_velocities = 1;
      moving.body = i;
      moving.lower = joint.lower;
      moving.upper = joint.upper;
      moving.velocity_limit = joint.velocity_limit;
      moving.acceleration_limit = joint.acceleration_limit;
      robot.joints.push_back(moving);
      Body body;
      body.block = 0;
      body.frame = i;
      model_.bodies.push_back(body);
      Actuator actuator;
      actuator.joint = i;
      actuator.kind = Actuator::Kind::kPosition;
      actuator.stiffness = 1000;
      actuator.initial_target = q[i];
      model_.actuators.push_back(actuator);
      controller.actuators.push_back(i);
      controller.posture.push_back(q[i]);
    }
    controller.body = 6;
    model_.robots.push_back(robot);
    model_.controllers.push_back(controller);
    model_.Finish();
    state_ = MakeInitialState(model_);
    steps_.push_back(model_.blocks[0]->NewStep());
  }

  void Advance(const Inputs& inputs) {
    BodyMotions motions(model_);
    motions.Update(state_);
    ASSERT_TRUE(
        PoseBlock(*steps_[0], {kStep, 1, 1, Vector3d::Zero()}, state_.q, state_.v, {}).ok());
    RunDifferentialIk(model_, inputs, state_, motions, kStep, steps_, {}, &memory_,
                      &state_.controls);
    for (int i = 0; i < 7; ++i) {
      const double rate = (state_.controls[i] - state_.q[i]) / kStep;
      fastest_ = std::max(fastest_, std::abs(rate));
      hardest_ = std::max(hardest_, std::abs(rate - state_.v[i]) / kStep);
      state_.v[i] = rate;
      state_.q[i] = state_.controls[i];
    }
  }
  RigidTransform Tool() const { return CalcBodyPose(model_, state_, 6); }
  Inputs Twist(const Vector3d& angular, const Vector3d& linear) const {
    Inputs inputs;
    inputs.twists.push_back({0, angular, linear});
    return inputs;
  }

  std::shared_ptr<const JointTree> tree_;
  Model model_;
  State state_;
  std::vector<std::unique_ptr<BlockStep>> steps_;
  DifferentialIkMemory memory_;
  double fastest_ = 0, hardest_ = 0;
};

TEST_F(DifferentialIkTest, TheLinkFollowsItsTwistAndDoesNotTurn) {
  const RigidTransform start = Tool();
  for (int k = 0; k < 100; ++k) Advance(Twist(Vector3d::Zero(), {0.1, 0, -0.05}));
  const RigidTransform end = Tool();
  // starting from rest at 10 rad/s², the link follows its path to O(h) of the distance
  EXPECT_LT((end.p - start.p - Vector3d(0.1, 0, -0.05)).norm(), 5e-3);
  EXPECT_LT((end.R - start.R).norm(), 1e-2);
}

TEST_F(DifferentialIkTest, RatesAndAccelerationsStayWithinLimits) {
  for (int k = 0; k < 200; ++k) Advance(Twist({0, 0, 3}, {2, 0, 0}));
  EXPECT_LE(fastest_, 1.7 + 1e-9);
  EXPECT_LE(hardest_, 10 + 1e-6);
}

TEST_F(DifferentialIkTest, JointsStopAtTheirLimits) {
  for (int k = 0; k < 2000; ++k) Advance(Twist({0, 0, 1}, Vector3d::Zero()));
  for (int i = 0; i < 7; ++i) {
    EXPECT_LE(state_.q[i], 2.9 + 1e-9);
    EXPECT_GE(state_.q[i], -2.9 - 1e-9);
  }
}

TEST_F(DifferentialIkTest, ComesToRestWhenNobodyCommands) {
  for (int k = 0; k < 50; ++k) Advance(Twist(Vector3d::Zero(), {0.2, 0, 0}));
  for (int k = 0; k < 50; ++k) Advance({});
  const std::vector<double> q = state_.q;
  Advance({});
  EXPECT_EQ(state_.q, q);
  for (const double v : state_.v) EXPECT_EQ(v, 0);
}

TEST_F(DifferentialIkTest, ReachesAPose) {
  RigidTransform goal = Tool();
  goal.p += Vector3d(0.08, -0.1, 0.05);
  goal.R = RotationFromVector({0, 0, 0.3}).toRotationMatrix() * goal.R;
  Inputs inputs;
  inputs.link_poses.push_back({0, goal});
  for (int k = 0; k < 600; ++k) Advance(inputs);
  EXPECT_LT((Tool().p - goal.p).norm(), 1e-6);
  EXPECT_LT((Tool().R - goal.R).norm(), 1e-6);
}

TEST_F(DifferentialIkTest, PostureReturnsInTheNullSpaceWithoutMovingTheLink) {
  // the posture changes but the link's target does not, which leaves null-space motion only
  Inputs inputs;
  const RigidTransform start = Tool();
  model_.controllers[0].posture[2] += 0.5;
  model_.controllers[0].posture_gain = 1;
  inputs.link_poses.push_back({0, start});
  const double before = std::abs(state_.q[2] - model_.controllers[0].posture[2]);
  for (int k = 0; k < 500; ++k) Advance(inputs);
  EXPECT_LT(std::abs(state_.q[2] - model_.controllers[0].posture[2]), 0.8 * before);
  EXPECT_LT((Tool().p - start.p).norm(), 1e-3);
}

class StretchedArm : public DifferentialIkTest {
 protected:
  StretchedArm() : DifferentialIkTest({0, 1e-3, 0, 1e-3, 0, 1e-3, 0}) {}
};

TEST_F(StretchedArm, RatesStayBoundedNearTheSingularity) {
  for (int k = 0; k < 100; ++k) Advance(Twist(Vector3d::Zero(), {0, 0, 0.1}));
  EXPECT_LE(fastest_, 1.7 + 1e-9);
  for (int k = 0; k < 100; ++k) Advance(Twist(Vector3d::Zero(), {0, 0, -0.1}));
  for (const double q : state_.q) EXPECT_TRUE(std::isfinite(q));
}

}  // namespace
}  // namespace pliant::physics
