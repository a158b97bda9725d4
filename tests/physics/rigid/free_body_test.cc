#include <cmath>

#include <gtest/gtest.h>

#include "physics/rigid/rigid_body_block.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

RigidBodyParameters Tumbling() {
  RigidBodyParameters p;
  p.mass = 2;
  p.inertia = Vector3d(1, 2, 3).asDiagonal();
  p.p_BoBcm = {0.1, -0.2, 0.05};
  p.angular_velocity = {1, 2, 1.5};
  p.linear_velocity = {0.5, 0, 0};
  return p;
}

FrameMotion MotionOf(const DynamicsBlock& block, std::span<const double> q,
                     std::span<const double> v) {
  FrameMotion motion;
  block.abilities().frames->CalcFrames({q, v}, {&motion, 1});
  return motion;
}

TEST(FreeBody, AngularMomentumOfATorqueFreeBodyIsKept) {
  const auto block = MakeFreeBodyBlock(Tumbling());
  std::vector<double> q(7), v(6), v_new(6);
  block->SetInitialState({q, v});
  const auto step = block->NewStep();
  const auto momentum = [&] {
    const auto m = block->CalcMomentum({q, v}, 0);
    return Vector3d(m.tail<3>() - block->CalcCenterOfMass({q, {}}, 0).cross(Vector3d(m.head<3>())));
  };
  const Vector3d start = momentum();
  const double h = 1e-3;
  for (int k = 0; k < 10000; ++k) {
    ASSERT_TRUE(PoseBlock(*step, {h, 1, 1, Vector3d::Zero()}, q, v, {}).ok());
    step->CalcFreeMotion(v_new);
    step->Integrate(v_new, {q, v});
  }
  EXPECT_LT((momentum() - start).norm(), 1e-6 * start.norm());
}

// Angular momentum is conserved for any rotation per step, here up to about 1 rad.
TEST(FreeBody, AngularMomentumIsKeptHoweverFastItSpins) {
  for (const double h : {0.01, 0.1, 0.4}) {
    RigidBodyParameters parameters = Tumbling();
    const auto block = MakeFreeBodyBlock(parameters);
    std::vector<double> q(7), v(6), v_new(6);
    block->SetInitialState({q, v});
    const auto step = block->NewStep();
    const Eigen::Vector3d L(1, 4, 4.5);  // I ω in the initial orientation
    for (int k = 0; k < 100; ++k) {
      ASSERT_TRUE(PoseBlock(*step, {h, 1, 1, Vector3d::Zero()}, q, v, {}).ok());
      step->CalcFreeMotion(v_new);
      step->Integrate(v_new, {q, v});
      const auto m = block->CalcMomentum({q, v}, 0);
      const Vector3d spin =
          m.tail<3>() - block->CalcCenterOfMass({q, {}}, 0).cross(Vector3d(m.head<3>()));
      // each step's equation is solved to 1e-14, plus some roundings
      EXPECT_LT((spin - L).norm(), 1e-13 * (k + 10) * L.norm()) << h << " " << k;
    }
  }
}

TEST(FreeBody, FallsByTheStepsOwnSum) {
  const auto block = MakeFreeBodyBlock(Tumbling());
  std::vector<double> q(7), v(6), v_new(6);
  block->SetInitialState({q, v});
  const double z0 = q[6], h = 0.01;
  const auto step = block->NewStep();
  for (int k = 0; k < 100; ++k) {
    ASSERT_TRUE(PoseBlock(*step, {h, 1, 1, {0, 0, -9.81}}, q, v, {}).ok());
    step->CalcFreeMotion(v_new);
    step->Integrate(v_new, {q, v});
  }
  // symplectic Euler: z = −g h² n (n + 1) / 2
  EXPECT_NEAR(q[6] - z0, -9.81 * h * h * 100 * 101 / 2, 1e-12);
}

TEST(FreeBody, RowsAreTheDerivativeOfAPointsVelocity) {
  const auto block = MakeFreeBodyBlock(Tumbling());
  std::vector<double> q(7), v(6);
  block->SetInitialState({q, v});
  const auto step = block->NewStep();
  ASSERT_TRUE(PoseBlock(*step, {0.01, 1, 1, Vector3d::Zero()}, q, v, {}).ok());
  Attachment point;
  point.p_W = {0.4, 0.3, -0.2};
  BlockRows rows;
  step->AppendRows(point, &rows);
  ASSERT_FALSE(rows.empty());
  const Eigen::Map<const Eigen::Matrix<double, 3, 6>> J(rows.only_matrix());
  const Eigen::Map<const Eigen::Matrix<double, 6, 1>> velocity(v.data());
  EXPECT_LT((J * velocity - MotionOf(*block, q, v).CalcPointVelocity(point.p_W)).norm(), 1e-15);
}

TEST(FreeBody, FramePoseAndCentreOfMassAgree) {
  RigidBodyParameters p = Tumbling();
  p.X_WB = {RotationFromVector({0.3, 0.2, -1}).toRotationMatrix(), {1, 2, 3}};
  const auto block = MakeFreeBodyBlock(p);
  std::vector<double> q(7), v(6);
  block->SetInitialState({q, v});
  const RigidTransform X = MotionOf(*block, q, v).X_WB;
  EXPECT_LT((X.R - p.X_WB.R).norm() + (X.p - p.X_WB.p).norm(), 1e-14);
  EXPECT_LT((X * p.p_BoBcm - block->CalcCenterOfMass({q, {}}, 0)).norm(), 1e-14);
}

TEST(KinematicBody, ReachesItsTargetExactlyAndMovesItsPointsThere) {
  const auto block = MakeKinematicBodyBlock(3, {});
  std::vector<double> q(13), v;
  block->SetInitialState({q, v});
  const auto step = block->NewStep();
  BlockInputs inputs;
  inputs.targets = {{RotationFromVector({0, 0, 0.02}).toRotationMatrix(), {0.01, 0, 0}}};
  const double h = 0.01;
  ASSERT_TRUE(PoseBlock(*step, {h, 1, 1, Vector3d::Zero()}, q, v, inputs).ok());
  Attachment point;
  point.p_W = {0, 1, 0};
  BlockRows rows;
  step->AppendRows(point, &rows);
  EXPECT_TRUE(rows.empty());
  EXPECT_LT((rows.prescribed - Vector3d(1 - 2, 0, 0)).norm(), 1e-12);
  step->Integrate({}, {q, v});
  const RigidTransform X = MotionOf(*block, q, v).X_WB;
  EXPECT_LT((X.p - inputs.targets[0].p).norm() + (X.R - inputs.targets[0].R).norm(), 1e-15);
  EXPECT_NEAR(MotionOf(*block, q, v).omega_W.z(), 2, 1e-12);
}

}  // namespace
}  // namespace pliant::physics
