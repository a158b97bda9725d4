#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/fem/stretched_body.h"

namespace pliant::physics {
namespace {

class Potential : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    FemParameters parameters;
    parameters.mesh = *MeshBox({0.1, 0.1, 0.1}, 0.05);
    parameters.materials = {{FindMaterial(GetParam()), {1e5, 0.4}, 1000}};
    parameters.rayleigh_beta = 0.01;
    body_ = std::make_unique<StretchedBody>(parameters);
  }

  std::unique_ptr<StretchedBody> body_;
};

// At any velocity, for materials whose balance is linear in v and for others.
TEST_P(Potential, HasTheMomentumResidualForItsGradient) {
  body_->ExpectResidualIsGradient();
}

TEST_P(Potential, HasTheExactTangentForItsHessian) {
  body_->ExpectTangentIsJacobian(1e-5);
}

class NonlinearPotential : public Potential {};

// Crushed flat, the box has an indefinite tangent, unless its elements' negative eigenvalues are
// dropped.
TEST_P(NonlinearPotential, HasAProjectedTangentThatIsDefinite) {
  for (std::size_t i = 0; i < body_->v.size(); i += 3) body_->v[i + 2] = -120 * body_->q[i + 2];
  const auto smallest = [&](TangentKind kind) {
    body_->Linearise(kind);
    const int n = static_cast<int>(body_->v.size());
    Eigen::MatrixXd A(n, n);
    for (int j = 0; j < n; ++j) {
      const Eigen::VectorXd unit = Eigen::VectorXd::Unit(n, j);
      body_->step->MultiplyTangent({unit.data(), unit.data() + n},
                                   {A.col(j).data(), std::size_t(n)});
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
