#include "physics/rigid/joint_tree_block.h"

#include <gtest/gtest.h>

#include "tests/physics/block_steps.h"
#include "tests/physics/rigid/random_tree.h"
#include "tests/physics/rigid/sample_trees.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A block and its state, stepped without contacts.
struct FreeRun {
  explicit FreeRun(std::shared_ptr<const JointTree> tree, std::vector<double> q,
                   std::vector<double> v)
      : block(MakeJointTreeBlock({tree, std::move(q), std::move(v)})), step(block->NewStep()) {
    this->q.resize(block->num_positions());
    this->v.resize(block->num_velocities());
    block->SetInitialState({this->q, this->v});
  }
  void Run(double duration, double h, const Vector3d& gravity, double theta = 1) {
    std::vector<double> v_new(v.size());
    for (int k = 0; k < std::lround(duration / h); ++k) {
      ASSERT_TRUE(PoseBlock(*step, {h, theta, theta, gravity}, q, v, {}).ok());
      ASSERT_TRUE(step->Factor({}).ok());
      step->CalcFreeMotion(v_new);
      step->Integrate(v_new, {q, v});
    }
  }
  double CalcEnergy(const Vector3d& gravity) const {
    return CalcKineticEnergy(*block, q, v) + CalcElasticEnergy(*block, q) -
           block->mass(0) * gravity.dot(block->CalcCenterOfMass({q, {}}, 0));
  }
  std::shared_ptr<const DynamicsBlock> block;
  std::unique_ptr<BlockStep> step;
  std::vector<double> q, v;
};

// Expects an error that halves with the step (by factors between 1.7 and 2.4 at these steps).
void ExpectFirstOrder(int rods, std::vector<double> q) {
  const Vector3d gravity(0, 0, -9.81);
  double errors[3];
  for (int k = 0; k < 3; ++k) {
    FreeRun run(MakePendulum(rods), q, std::vector<double>(q.size()));
    const double start = run.CalcEnergy(gravity);
    run.Run(0.5, 1e-3 / (1 << k), gravity);
    errors[k] = std::abs(run.CalcEnergy(gravity) - start);
  }
  for (int k = 0; k < 2; ++k) {
    EXPECT_GT(errors[k] / errors[k + 1], 1.7);
    EXPECT_LT(errors[k] / errors[k + 1], 2.4);
  }
}

TEST(JointTreeBlock, EnergyErrorOfAPendulumFallsWithTheStep) {
  ExpectFirstOrder(1, {1.0});
}

TEST(JointTreeBlock, EnergyErrorOfADoublePendulumFallsWithTheStep) {
  ExpectFirstOrder(2, {1.0, 0.5});
}

TEST(JointTreeBlock, PendulumSwingsWithItsPeriod) {
  // small oscillations of a rod about its end: ω² = 3 g / 2 L
  const double omega = std::sqrt(1.5 * 9.81 / 0.5);
  FreeRun run(MakePendulum(1), {1e-4}, {0});
  const double quarter = 0.5 * kPi / omega;
  run.Run(std::floor(quarter / 1e-5) * 1e-5, 1e-5, {0, 0, -9.81});
  EXPECT_NEAR(run.q[0] / 1e-4, 0, 1e-3);
}

// Two bars on a hinge, tumbling in free space.
std::shared_ptr<const JointTree> MakeTumbler() {
  Joint base;
  base.type = JointType::kFree;
  std::vector<Link> links{MakeRod(-1, 0.5, 1, base),
                          MakeRod(0, 0.5, 1, MakeHinge({0, 0, -0.5}, {0, 1, 0}))};
  return std::make_shared<const JointTree>(std::move(links));
}

double MomentumDrift(double h) {
  FreeRun run(MakeTumbler(), {1, 0, 0, 0, 0, 0, 0, 0.3}, {1, 2, 1.5, 0.2, -0.1, 0.3, 0.5});
  const auto start = run.block->CalcMomentum({run.q, run.v}, 0);
  run.Run(1, h, Vector3d::Zero());
  return (run.block->CalcMomentum({run.q, run.v}, 0) - start).norm() / start.norm();
}

TEST(JointTreeBlock, MomentumOfATumblingTreeDriftsByTheOrderOfTheStep) {
  const double coarse = MomentumDrift(1e-3), fine = MomentumDrift(5e-4);
  EXPECT_LT(coarse, 0.02);
  EXPECT_GT(coarse / fine, 1.7);
}

TEST(JointTreeBlock, RowsAreTheDerivativeOfAFramesMotion) {
  FreeRun run(MakeTumbler(), {1, 0, 0, 0, 0.1, 0.2, 0.3, 0.3}, {1, 2, 1.5, 0.2, -0.1, 0.3, 0.5});
  ASSERT_TRUE(PoseBlock(*run.step, {0.01, 1, 1, Vector3d::Zero()}, run.q, run.v, {}).ok());
  std::vector<FrameMotion> frames(2);
  run.block->abilities().frames->CalcFrames({run.q, run.v}, frames);
  Attachment point;
  point.frame = 1;
  point.p_W = {0.4, 0.3, -0.2};
  BlockRows linear, angular;
  run.step->AppendRows(point, &linear);
  run.step->abilities().frames->AppendAngularRows(point, &angular);
  const auto apply = [&](const BlockRows& rows) {
    Vector3d sum = Vector3d::Zero();
    for (int j = 0; j < 7; ++j) {
      const double* J = rows.only_matrix() + 3 * j;
      sum += run.v[j] * Vector3d(J[0], J[1], J[2]);
    }
    return sum;
  };
  EXPECT_LT((apply(linear) - frames[1].CalcPointVelocity(point.p_W)).norm(), 1e-14);
  EXPECT_LT((apply(angular) - frames[1].omega_W).norm(), 1e-14);
}

TEST(JointTreeBlock, StiffSpringAndDamperAreStableAtAnyStep) {
  auto links = MakePendulum(1)->links();
  links[0].joint.spring_stiffness = 1e9;
  links[0].joint.damping = 1e3;
  links[0].joint.spring_rest = 0.3;
  FreeRun run(std::make_shared<const JointTree>(std::move(links)), {0}, {0});
  run.Run(1, 0.05, {0, 0, -9.81});
  EXPECT_NEAR(run.q[0], 0.3, 1e-8);
}

// Energy of a hinge on a spring after a second without gravity, over that at the start.
double SwingOnASpring(double theta) {
  constexpr double kStiffness = 20, kStart = 0.5;
  auto links = MakePendulum(1)->links();
  links[0].joint.spring_stiffness = kStiffness;
  FreeRun run(std::make_shared<const JointTree>(std::move(links)), {kStart}, {0});
  run.Run(1, 0.005, Vector3d::Zero(), theta);
  const double spring = 0.5 * kStiffness * run.q[0] * run.q[0];
  const double start = 0.5 * kStiffness * kStart * kStart;
  return (CalcKineticEnergy(*run.block, run.q, run.v) + spring) / start;
}

TEST(JointTreeBlock, SpringsActWhereTheStageTakesForces) {
  EXPECT_NEAR(SwingOnASpring(0.5), 1, 1e-12);  // the midpoint rule keeps the energy
  EXPECT_LT(SwingOnASpring(1), 0.8);           // implicit Euler dissipates
}

TEST(JointTreeBlock, SpeedBoundHoldsForEveryPoint) {
  RandomTrees random(7);
  const JointType roots[] = {JointType::kFixed, JointType::kPrismatic, JointType::kPlanar,
                             JointType::kFree, JointType::kRevolute};
  const JointType others[] = {JointType::kRevolute, JointType::kPrismatic, JointType::kUniversal,
                              JointType::kBall};
  double closest = 0;
  int finite = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Link> links{random.MakeLink(0, -1, roots[random.Below(5)])};
    for (int k = 1; k < 5; ++k)
      links.push_back(random.MakeLink(k, random.Below(k), others[random.Below(4)]));
    const auto tree = std::make_shared<const JointTree>(std::move(links));
    const std::vector<double> q = random.Positions(*tree), v(tree->num_velocities());
    const auto block = MakeJointTreeBlock({tree, q, v});
    const FrameSet& set = *block->abilities().frames;
    // one velocity at a time comes closest to the bound
    for (std::size_t i = 0; i < v.size(); ++i) {
      std::vector<double> one(v.size());
      one[i] = 1;
      std::vector<FrameMotion> frames(set.num_frames());
      set.CalcFrames({q, one}, frames);
      if (!std::isfinite(set.CalcSpeedBound({q, one}, 0))) continue;
      ++finite;
      for (const FrameMotion& frame : frames) {
        const double r = random.Uniform(0, 0.3);
        const double bound = set.CalcSpeedBound({q, one}, r);
        const Vector3d p_W = frame.X_WB.p + r * random.Unit();
        const double speed = frame.CalcPointVelocity(p_W).norm();
        EXPECT_LE(speed, bound * (1 + 1e-12));
        closest = std::max(closest, speed / bound);
      }
    }
  }
  EXPECT_GT(closest, 0.8);
  EXPECT_GT(finite, 500);
}

// The bound grows with the radius as fast as the tree may turn.
TEST(JointTreeBlock, SpeedBoundGrowsWithTheAngularVelocity) {
  const auto spin = [](JointType type, const std::vector<double>& v) {
    Link link = RandomTrees(1).MakeLink(0, -1, type);
    link.joint.X_BM.p = {0.1, 0, 0};
    const auto tree = std::make_shared<const JointTree>(std::vector<Link>{link});
    const std::vector<double> q = RandomTrees(2).Positions(*tree);
    const auto block = MakeJointTreeBlock({tree, q, v});
    const FrameSet& set = *block->abilities().frames;
    return set.CalcSpeedBound({q, v}, 1) - set.CalcSpeedBound({q, v}, 0);
  };
  EXPECT_NEAR(spin(JointType::kRevolute, {2}), 2, 1e-13);
  EXPECT_NEAR(spin(JointType::kBall, {2, -3, 4}), 9, 1e-13);
  EXPECT_NEAR(spin(JointType::kPrismatic, {2}), 0, 1e-13);
  EXPECT_NEAR(spin(JointType::kPlanar, {5, 6, 2}), 2, 1e-13);
  EXPECT_NEAR(spin(JointType::kFree, {2, -3, 4, 5, 6, 7}), 9, 1e-13);
}

TEST(JointTreeBlock, GravityCompensationHoldsTheTreeStill) {
  const std::vector<double> q{0.3, 0.7, -0.4, 1.1, 0.2, 0.5, -0.3};
  FreeRun run(MakeArm(), q, std::vector<double>(7));
  const Vector3d gravity(0, 0, -9.81);
  ASSERT_TRUE(PoseBlock(*run.step, {0.01, 1, 1, gravity}, run.q, run.v, {}).ok());
  std::vector<double> hold(7), v_new(7);
  run.step->abilities().joints->CalcGravityCompensation(hold);
  BlockInputs inputs;
  for (int i = 0; i < 7; ++i) inputs.efforts.push_back({i, hold[i]});
  ASSERT_TRUE(PoseBlock(*run.step, {0.01, 1, 1, gravity}, run.q, run.v, inputs).ok());
  run.step->CalcFreeMotion(v_new);
  for (const double v : v_new) EXPECT_NEAR(v, 0, 1e-14);
}

}  // namespace
}  // namespace pliant::physics
