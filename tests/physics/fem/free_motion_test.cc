#include <cmath>

#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

// A large block in free flight, deformed and moving.
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
  // v* as completed from one participant.
  std::vector<double> CalcWithParticipant() {
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

TEST_F(FreeMotionTest, IsTheSameWithAParticipant) {
  Make(1e6);
  for (int k = 0; k < 3; ++k) {
    Pose();
    const std::vector<double> expected = CalcWithParticipant(), v = CalcFree();
    for (std::size_t i = 0; i < v.size(); ++i) ASSERT_NEAR(v[i], expected[i], 1e-10) << i;
    EXPECT_LT(CalcResidual(v), 1e-13);
    step_->Integrate(v, {q_, v_});
  }
}

TEST_F(FreeMotionTest, FollowsParticipantsThatComeAndGo) {
  Make(1e6);
  Pose();
  const std::vector<double> alone = CalcFree();
  const std::vector<double> touched = CalcWithParticipant();
  EXPECT_EQ(step_->schur_complement().dense.size(), 9u);
  EXPECT_EQ(CalcFree(), alone);
  EXPECT_TRUE(step_->schur_complement().dense.empty());
  EXPECT_EQ(CalcWithParticipant(), touched);
}

TEST_F(FreeMotionTest, OfAVeryStiffBodyIsRightToo) {
  // a wave crosses 1e4 elements in one step
  Make(1e13);
  Pose();
  const std::vector<double> expected = CalcWithParticipant(), v = CalcFree();
  EXPECT_LT(CalcResidual(v), 1e-13);
  EXPECT_LT(CalcResidual(expected), 1e-13);
}

}  // namespace
}  // namespace pliant::physics
