#include <cmath>

#include <gtest/gtest.h>

#include "physics/fem/assembly.h"
#include "physics/fem/fem_block.h"
#include "physics/fem/fem_model.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "solvers/linalg/refined/refined_cholesky.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

// A deformed and moving block in free flight, large enough to be factored in single precision.
class FreeMotionTest : public ::testing::Test {
 protected:
  void Make(double youngs_modulus) {
    FemParameters& p = parameters_;
    p.mesh = *MeshBox({1.2, 1.2, 1.2}, 0.1);
    p.materials = {{FindMaterial("LINEAR_COROTATIONAL"), {youngs_modulus, 0.4}, 1000}};
    ASSERT_GT(3 * p.mesh.vertices.size(), 6000u);
    block_ = MakeFemBlock(p);
    step_ = block_->NewStep();
    q_.resize(block_->num_positions());
    v_.resize(block_->num_velocities());
    block_->SetInitialState({q_, v_});
    for (std::size_t i = 0; i < q_.size(); ++i) {
      const double s = static_cast<double>(i);
      q_[i] *= 1 + 0.02 * std::sin(s);
      v_[i] = std::cos(s);
    }
  }

  void Pose() { ASSERT_TRUE(PoseBlock(*step_, settings_, q_, v_, {}).ok()); }

  // v* as computed without participants.
  std::vector<double> CalcFree() {
    EXPECT_TRUE(step_->Factor({}).ok());
    std::vector<double> v(v_.size());
    step_->CalcFreeMotion(v);
    return v;
  }
  // v* from a factor in double precision, which a participant makes necessary.
  std::vector<double> CalcInDouble() {
    const std::vector<int> one{700};
    EXPECT_TRUE(step_->Factor(one).ok());
    std::vector<double> v(v_.size());
    step_->CalcFreeMotion(v);
    const std::vector<double> v_p(v.begin() + 2100, v.begin() + 2103);
    step_->Complete(v_p, v);
    return v;
  }

  // ‖D m(v)‖ / ‖D A v‖
  double CalcResidual(const std::vector<double>& v) const {
    std::vector<double> m(v.size()), Av(v.size()), diagonal(v.size());
    step_->CalcResidualTerms(v, m, Av, diagonal);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      error += m[i] * m[i] / diagonal[i];
      size += Av[i] * Av[i] / diagonal[i];
    }
    return std::sqrt(error / size);
  }

  const ThetaStep settings_{0.01, 1, 1, Eigen::Vector3d::Zero()};
  FemParameters parameters_;
  std::shared_ptr<const DynamicsBlock> block_;
  std::unique_ptr<BlockStep> step_;
  std::vector<double> q_, v_;
};

TEST_F(FreeMotionTest, OfALargeBodyIsThatOfAFactorInDoublePrecision) {
  Make(1e6);
  for (int k = 0; k < 3; ++k) {
    Pose();
    const std::vector<double> expected = CalcInDouble(), v = CalcFree();
    for (std::size_t i = 0; i < v.size(); ++i) ASSERT_NEAR(v[i], expected[i], 1e-10) << i;
    EXPECT_LT(CalcResidual(v), 1e-13);
    step_->Integrate(v, {q_, v_});
  }
}

TEST_F(FreeMotionTest, OfALargeBodyIsRefinedFromSinglePrecision) {
  Make(1e6);
  Pose();
  const auto shape = std::make_shared<FemRestShape>(parameters_);
  const FemModel model(parameters_, shape);
  solvers::BlockMatrix A(&model.pattern);
  std::vector<double> b(v_.size()), x(v_.size());
  AssembleQuadratic(model, ThetaMethod(settings_.h), q_, v_, {}, &A, &b);
  for (double& one : b) one = -one;
  solvers::RefinedCholesky refined(&model.pattern, shape->elimination_order());
  ASSERT_TRUE(refined.Factor(A));
  ASSERT_TRUE(refined.Solve(A, b, x));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += v_[i];
  EXPECT_EQ(CalcFree(), x);
}

TEST_F(FreeMotionTest, FollowsParticipantsThatComeAndGo) {
  Make(1e6);
  Pose();
  const std::vector<double> alone = CalcFree();
  const std::vector<double> touched = CalcInDouble();
  EXPECT_EQ(step_->schur_complement().dense.size(), 9u);
  EXPECT_EQ(CalcFree(), alone);
  EXPECT_TRUE(step_->schur_complement().dense.empty());
  EXPECT_EQ(CalcInDouble(), touched);
}

TEST_F(FreeMotionTest, OfABodyTooStiffForSinglePrecisionIsRightToo) {
  // a wave crosses 1e4 elements in one step
  Make(1e13);
  Pose();
  const std::vector<double> expected = CalcInDouble(), v = CalcFree();
  EXPECT_LT(CalcResidual(v), 1e-13);
  EXPECT_LT(CalcResidual(expected), 1e-13);
}

}  // namespace
}  // namespace pliant::physics
