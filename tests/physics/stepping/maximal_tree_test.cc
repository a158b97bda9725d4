#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "physics/rigid/joint_tree_block.h"
#include "physics/rigid/maximal_tree_block.h"
#include "physics/stepping/stepper.h"
#include "tests/physics/rigid/sample_trees.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// One tree under the nonsmooth method, in reduced or maximal coordinates.
class TreeWorld {
 public:
  TreeWorld(std::shared_ptr<const JointTree> tree, std::vector<double> q, std::vector<double> v,
            bool is_maximal, double h)
      : n_(tree->num_positions()) {
    model_.time_step = h;
    model_.method.kind = MethodKind::kNonsmooth;
    NonsmoothOptions& options = model_.method.nonsmooth;
    options.tolerance = 1e-11;
    options.newton_iterations = 100;
    options.linear_iterations = 1000;
    if (is_maximal) options.coordinates = NonsmoothOptions::Coordinates::kMaximal;
    JointTreeParameters parameters{tree, std::move(q), std::move(v)};
    model_.blocks.push_back(is_maximal ? MakeMaximalTreeBlock(parameters)
                                       : MakeJointTreeBlock(parameters));
    model_.robots.emplace_back().name = "robot";
    for (int i = 0; i < tree->num_links(); ++i) {
      RobotJoint joint;
      joint.block = 0;
      joint.position = tree->position_start(i);
      joint.velocity = joint.channel = tree->velocity_start(i);
      joint.body = i;
      model_.robots[0].joints.push_back(joint);
      model_.bodies.emplace_back().block = 0;
      model_.bodies.back().frame = i;
    }
  }
  Model& model() { return model_; }
  const State& state() const { return state_; }
  const StepReport& report() const { return report_; }
  Inputs& inputs() { return inputs_; }

  void Run(double duration) {
    if (stepper_ == nullptr) {
      model_.Finish();
      state_ = MakeInitialState(model_);
      stepper_ = MakeStepper(model_);
    }
    for (int k = 0; k < std::lround(duration / model_.time_step); ++k) {
      ASSERT_TRUE(stepper_->Step(inputs_, model_.time_step, &state_, &report_).ok());
      ASSERT_TRUE(report_.converged) << "step " << k << " residual " << report_.residual << " "
                                     << testing::PrintToString(report_.iteration_residuals);
      drift_ = std::max(drift_, report_.joint_drift);
    }
  }
  Eigen::VectorXd q() const { return Eigen::VectorXd::Map(state_.q.data(), n_); }
  double drift() const { return drift_; }

 private:
  Model model_;
  Inputs inputs_;
  State state_;
  StepReport report_;
  std::unique_ptr<Stepper> stepper_;
  int n_;
  double drift_ = 0;
};

// Rods on hinges, a ball joint, a slide and fixed joints; the first one hangs from the world, or is
// free.
std::shared_ptr<const JointTree> MakeMixture(bool is_free) {
  Joint root, ball, slide;
  root.type = is_free ? JointType::kFree : JointType::kRevolute;
  root.axis = {0, 1, 0};
  ball.type = JointType::kBall;
  ball.X_PF.p = {0, 0, -0.5};
  ball.damping = 0.1;
  slide.type = JointType::kPrismatic;
  slide.axis = Vector3d(0.6, 0, 0.8);
  slide.X_PF.p = {0.1, 0, -0.4};
  slide.spring_stiffness = 200;
  slide.damping = 2;
  slide.rotor_inertia = 0.01;
  slide.gear_ratio = 10;
  std::vector<Link> links = {MakeRod(-1, 0.5, 1, root), MakeRod(0, 0.5, 1, ball),
                             MakeRod(1, 0.3, 0.7, slide),
                             MakeRod(0, 0.3, 0.5, MakeHinge({0.2, 0, 0}, {0, 1, 0}))};
  // a fixed flange without mass, and a fixed weight on it
  Link flange, weight;
  flange.name = "flange";
  flange.parent = 3;
  flange.joint.X_PF.p = {0, 0, -0.3};
  weight = MakeRod(4, 0.1, 0.3, Joint());
  weight.joint.type = JointType::kFixed;
  links.push_back(flange);
  links.push_back(weight);
  return std::make_shared<const JointTree>(std::move(links));
}

// Rods on universal, planar and screw joints, with oblique axes.
std::shared_ptr<const JointTree> MakeShafts() {
  Joint cardan, table, screw;
  cardan.type = JointType::kUniversal;
  cardan.axis = Vector3d(1, 0, 0);
  cardan.axis2 = Vector3d(0.48, 0.8, 0.36);
  cardan.damping = 0.05;
  table.type = JointType::kPlanar;
  table.axis = Vector3d(0.6, 0, 0.8);
  table.X_PF.p = {0, 0.1, -0.4};
  table.spring_stiffness = 50;
  table.damping = 1;
  screw.type = JointType::kScrew;
  screw.axis = Vector3d(0, 0.6, -0.8);
  screw.pitch = 0.7;
  screw.X_PF.p = {0, 0, -0.3};
  screw.damping = 0.05;
  return std::make_shared<const JointTree>(
      std::vector<Link>{MakeRod(-1, 0.5, 1, cardan), MakeRod(0, 0.3, 0.7, table),
                        MakeRod(1, 0.3, 0.5, screw), MakeRod(2, 0.2, 0.4, cardan)});
}

std::vector<double> Zero(const JointTree& tree) {
  std::vector<double> q(tree.num_positions());
  tree.SetZero(q);
  return q;
}

// Positions after 0.4 s of free motion.
Eigen::VectorXd Swing(const std::shared_ptr<const JointTree>& tree, bool is_maximal, double h) {
  std::vector<double> v(tree->num_velocities());
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 0.5 - 0.3 * static_cast<double>(i % 3);
  TreeWorld world(tree, Zero(*tree), v, is_maximal, h);
  world.Run(0.4);
  EXPECT_LE(world.drift(), 1e-10);
  return world.q();
}

// Both coordinates are first-order accurate in h with different errors, so their difference
// vanishes with h.
TEST(MaximalTree, MovesAsTheTreeInReducedCoordinatesAsTheStepVanishes) {
  for (const auto& tree : {MakePendulum(3), MakeMixture(false), MakeMixture(true), MakeShafts()}) {
    double differences[3];
    int k = 0;
    for (const double h : {0.004, 0.002, 0.001})
      differences[k++] = (Swing(tree, true, h) - Swing(tree, false, h)).norm();
    EXPECT_LT(differences[0], 0.1);
    EXPECT_NEAR(differences[0] / differences[1], 2, 0.4) << differences[0];
    EXPECT_NEAR(differences[1] / differences[2], 2, 0.2) << differences[1];
  }
}

TEST(MaximalTree, HoldsUnderPdWhereTheTreeInReducedCoordinatesDoes) {
  const auto tree = MakeArm();
  Eigen::VectorXd q[2];
  for (const bool is_maximal : {false, true}) {
    TreeWorld world(tree, Zero(*tree), std::vector<double>(7), is_maximal, 0.005);
    for (int i = 0; i < 7; ++i) {
      Actuator actuator;
      actuator.joint = i;
      actuator.kind = Actuator::Kind::kPosition;
      actuator.stiffness = 800;
      actuator.damping = 80;
      actuator.initial_target = 0.3 * (i % 3);
      actuator.gravity_compensation = i == 3;
      world.model().actuators.push_back(actuator);
    }
    world.Run(6);
    q[is_maximal] = world.q();
    EXPECT_LT(world.drift(), 1e-10);
  }
  EXPECT_LE((q[0] - q[1]).cwiseAbs().maxCoeff(), 1e-6);
}

TEST(MaximalTree, RestsAtItsLimitWhereTheTreeInReducedCoordinatesDoes) {
  auto links = MakePendulum(2)->links();
  links[0].joint.upper = 0.4;
  links[1].joint.lower = -0.2;
  links[0].joint.damping = links[1].joint.damping = 0.3;
  links[1].joint.friction_loss = 0.01;
  const auto tree = std::make_shared<const JointTree>(std::move(links));
  for (const bool is_maximal : {false, true}) {
    TreeWorld world(tree, {0.1, 0.1}, {0, 0}, is_maximal, 0.005);
    // the forces push both joints into their limits, against gravity
    world.inputs().joint_forces = {{0, 0, 20.0}, {0, 1, -6.0}};
    world.Run(3);
    EXPECT_NEAR(world.q()[0], 0.4, 1e-8);
    EXPECT_NEAR(world.q()[1], -0.2, 1e-8);
  }
}

// Joint impulses between links add up to zero, by construction of the rows.
TEST(MaximalTree, ThatHangsOnNothingKeepsItsMomentum) {
  const auto tree = MakeMixture(true);
  std::vector<double> v(tree->num_velocities());
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1 - 0.4 * static_cast<double>(i % 4);
  TreeWorld world(tree, Zero(*tree), v, true, 0.002);
  world.model().gravity.setZero();
  world.Run(0.002);
  const auto momentum = [&] {
    return world.model().blocks[0]->CalcMomentum({world.state().q, world.state().v}, 0);
  };
  const Eigen::Matrix<double, 6, 1> start = momentum();
  world.Run(0.5);
  const Eigen::Matrix<double, 6, 1> change = momentum() - start;
  // rounding of 250 steps, plus the residual that a tolerance of 1e-11 m leaves in each
  EXPECT_LE(change.head<3>().norm(), 1e-9 * start.head<3>().norm());
  // to first order in h only, as the gyroscopic term of each body ignores the joints
  EXPECT_LE(change.tail<3>().norm(), 0.02 * start.tail<3>().norm());
}

// Joints are enforced at position level, so the drift is the error of one step and does not
// accumulate.
TEST(MaximalTree, DriftsByNoMoreThanAStepLeaves) {
  const auto tree = MakePendulum(10);
  std::vector<double> q(10, 0.0);
  q[0] = 1.5;
  for (const double tolerance : {1e-6, 1e-9}) {
    TreeWorld world(tree, q, std::vector<double>(10), true, 0.005);
    world.model().method.nonsmooth.tolerance = tolerance;
    world.Run(2);
    EXPECT_LE(world.drift(), tolerance);
    EXPECT_GT(world.drift(), 0);
    EXPECT_EQ(world.report().joint_drift, world.model().abilities[0].joints->CalcDrift(
                                              world.model().StateOf(world.state(), 0)));
  }
}

TEST(MaximalTree, JointAnglesGoOnBeyondATurn) {
  // evaluating the rows at the end of the step loses speed in proportion to h
  double errors[2];
  for (const bool is_fine : {false, true}) {
    TreeWorld world(MakePendulum(1), {3.0}, {8.0}, true, is_fine ? 0.0005 : 0.001);
    world.model().gravity.setZero();
    world.Run(2);
    errors[is_fine] = 19 - world.q()[0];
  }
  EXPECT_LT(std::abs(errors[1]), 0.5);
  EXPECT_NEAR(errors[0] / errors[1], 2, 0.1);
}

TEST(MaximalTree, LinksWithoutMassAreRefusedByName) {
  auto links = MakePendulum(3)->links();
  links[1].mass = 0;
  links[1].inertia.setZero();
  const std::string why = CheckMaximalTree(JointTree(links));
  EXPECT_EQ(why,
            "link \"rod1\" moves and has no mass, which maximal coordinates need of every link. "
            "Give it one in the robot's file, or use coordinates: REDUCED");
  EXPECT_EQ(CheckMaximalTree(*MakeMixture(true)), "");
  EXPECT_EQ(CheckMaximalTree(*MakeShafts()), "");
}

}  // namespace
}  // namespace pliant::physics
