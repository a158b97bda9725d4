#include <cmath>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

// A box in a step, a velocity that stretches and turns it, and a direction from there.
class Potential : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    FemParameters parameters;
    parameters.mesh = *MeshBox({0.1, 0.1, 0.1}, 0.05);
    parameters.materials = {{FindMaterial(GetParam()), {1e5, 0.4}, 1000}};
    parameters.rayleigh_beta = 0.01;
    block_ = MakeFemBlock(parameters);
    step_ = block_->NewStep();
    q_.resize(block_->num_positions());
    v_.resize(block_->num_velocities());
    block_->SetInitialState({q_, v_});
    ASSERT_TRUE(PoseBlock(*step_, {0.01, 1, 1, {0, 0, -9.81}}, q_, v_).ok());
    direction_.resize(v_.size());
    for (std::size_t i = 0; i < v_.size(); ++i) {
      v_[i] = 3 * q_[(i + 1) % v_.size()] + 0.2 * (static_cast<double>(i % 5) - 2);
      direction_[i] = 0.1 * (static_cast<double>(i % 7) - 3);
    }
  }
  std::vector<double> Moved(double s) const {
    std::vector<double> moved = v_;
    for (std::size_t i = 0; i < v_.size(); ++i) moved[i] += s * direction_[i];
    return moved;
  }

  std::shared_ptr<const DynamicsBlock> block_;
  std::unique_ptr<BlockStep> step_;
  std::vector<double> q_, v_, direction_;
};

// The balance m(v) is the gradient of the incremental potential at any velocity, for materials that
// are linear in v and for others.
TEST_P(Potential, HasTheMomentumResidualForItsGradient) {
  std::vector<double> residual(v_.size());
  step_->CalcMomentumResidual(v_, residual);
  double slope = 0;
  for (std::size_t i = 0; i < v_.size(); ++i) slope += residual[i] * direction_[i];
  const double d = 1e-4;
  const double difference =
      (step_->CalcPotential(Moved(d)) - step_->CalcPotential(Moved(-d))) / (2 * d);
  // central differences: the error falls as d², down to the rounding of the potential over d
  EXPECT_GT(std::abs(slope), 1e-3);
  EXPECT_NEAR(difference, slope, 1e-5 * std::abs(slope));
}

// The exact tangent is the Jacobian of m(v) at any velocity.
TEST_P(Potential, HasTheExactTangentForItsHessian) {
  ASSERT_TRUE(step_->Linearise(v_, TangentKind::kExact).ok());
  std::vector<double> product(v_.size()), above(v_.size()), below(v_.size());
  step_->MultiplyTangent(direction_, product);
  const double d = 1e-4;
  step_->CalcMomentumResidual(Moved(d), above);
  step_->CalcMomentumResidual(Moved(-d), below);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < v_.size(); ++i) {
    error = std::max(error, std::abs((above[i] - below[i]) / (2 * d) - product[i]));
    size = std::max(size, std::abs(product[i]));
  }
  EXPECT_GT(size, 1e-3);
  EXPECT_LT(error, 1e-5 * size);
}

class NonlinearPotential : public Potential {};

// Crushed flat, the box has an indefinite tangent, unless its elements' negative eigenvalues are
// dropped.
TEST_P(NonlinearPotential, HasAProjectedTangentThatIsDefinite) {
  for (std::size_t i = 0; i < v_.size(); i += 3) v_[i + 2] = -120 * q_[i + 2];
  const auto smallest = [&](TangentKind kind) {
    EXPECT_TRUE(step_->Linearise(v_, kind).ok());
    const int n = static_cast<int>(v_.size());
    Eigen::MatrixXd A(n, n);
    for (int j = 0; j < n; ++j) {
      const Eigen::VectorXd unit = Eigen::VectorXd::Unit(n, j);
      step_->MultiplyTangent({unit.data(), unit.data() + n}, {A.col(j).data(), std::size_t(n)});
    }
    EXPECT_LT((A - A.transpose()).norm(), 1e-12 * A.norm());
    return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(A).eigenvalues()[0];
  };
  EXPECT_LT(smallest(TangentKind::kExact), 0);
  EXPECT_GT(smallest(TangentKind::kProjected), 0);
}

INSTANTIATE_TEST_SUITE_P(Materials, Potential,
                         ::testing::Values("LINEAR_COROTATIONAL", "COROTATIONAL", "NEO_HOOKEAN"));
INSTANTIATE_TEST_SUITE_P(Materials, NonlinearPotential,
                         ::testing::Values("COROTATIONAL", "NEO_HOOKEAN"));

}  // namespace
}  // namespace pliant::physics
