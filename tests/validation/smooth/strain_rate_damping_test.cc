#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physics/fem/assembly.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A box of a material, its positions at rest, and random velocities.
class Damping : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const Material* material = FindMaterial(GetParam());
    FemParameters parameters;
    parameters.mesh = *MeshBox({0.1, 0.1, 0.1}, 0.05);
    FemMaterial& of = parameters.materials.emplace_back(FemMaterial{material, {}, 1000});
    for (const MaterialParameter& one : material->parameters())
      of.parameters.push_back(one.example);
    parameters.rayleigh_beta = kBeta;
    for (const Vector3d& x : parameters.mesh.vertices)
      rest_.insert(rest_.end(), {x[0], x[1], x[2]});
    model_ = std::make_unique<FemModel>(parameters, std::make_shared<FemRestShape>(parameters));
  }

  std::vector<double> Draw(double size) {
    std::vector<double> x(rest_.size());
    for (double& number : x) number = size * normal_(random_);
    return x;
  }
  // Negative forces of the damping at positions q and velocities v.
  std::vector<double> CalcForces(std::span<const double> q, std::span<const double> v) const {
    std::vector<double> forces(q.size(), 0.0);
    StrainRateDamping(*model_).AddForces(*model_, q, v, &forces);
    return forces;
  }
  static double Dot(std::span<const double> x, std::span<const double> y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  }

  static constexpr double kBeta = 0.01;
  std::unique_ptr<FemModel> model_;
  std::vector<double> rest_;
  std::mt19937 random_{7};
  std::normal_distribution<double> normal_;
};

// The stiffness of a compressed body is not positive definite: β K v would give energy to what
// buckles.
TEST_P(Damping, TakesEnergyAtAnyDeformation) {
  for (const double height : {1.0, 0.5, 0.2, 0.05, -0.3}) {
    std::vector<double> q = rest_;
    const std::vector<double> moved = Draw(0.01);
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = (i % 3 == 2 ? height : 1) * q[i] + moved[i];
    for (int k = 0; k < 20; ++k) {
      const std::vector<double> v = Draw(1);
      EXPECT_GT(Dot(CalcForces(q, v), v), 0) << "height " << height;
    }
  }
}

TEST_P(Damping, DoesNotResistRotation) {
  std::vector<double> q = rest_, v(q.size());
  const std::vector<double> moved = Draw(0.01);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] += moved[i];
  const Vector3d omega(3, -2, 5);
  for (std::size_t i = 0; i < q.size(); i += 3)
    Eigen::Map<Vector3d>{&v[i]} = omega.cross(Eigen::Map<const Vector3d>(&q[i]));
  const std::vector<double> still = CalcForces(q, v), strained = CalcForces(q, Draw(0.5));
  EXPECT_LT(std::sqrt(Dot(still, still)), 1e-13 * std::sqrt(Dot(strained, strained)));
}

TEST_P(Damping, IsThatOfRayleighForSmallStrains) {
  const std::vector<double> v = Draw(1);
  const double d = 1e-6;
  std::vector<double> change(rest_.size());  // of the elastic forces, along v
  FemModel::Deformation at;
  for (const double sign : {1.0, -1.0}) {
    std::vector<double> q = rest_, residual(q.size(), 0.0);
    for (std::size_t i = 0; i < q.size(); ++i) q[i] += sign * d * v[i];
    solvers::BlockMatrix unused(&model_->pattern);
    AssembleExactCorotational(*model_, q, {}, 1, 1, Tangent::kNone, &unused, &residual);
    AssembleNonlinear(*model_, q, {}, 1, 1, Tangent::kNone, &at, &unused, &residual);
    for (std::size_t i = 0; i < q.size(); ++i) change[i] += sign * residual[i] / (2 * d);
  }
  const std::vector<double> forces = CalcForces(rest_, v);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < forces.size(); ++i) {
    error = std::max(error, std::abs(forces[i] - kBeta * change[i]));
    size = std::max(size, std::abs(forces[i]));
  }
  EXPECT_LT(error, 1e-6 * size);
}

std::vector<std::string> NamesOfMaterials() {
  std::vector<std::string> names;
  for (const Material* material : AllMaterials()) names.emplace_back(material->name());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Materials, Damping, ::testing::ValuesIn(NamesOfMaterials()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace pliant::physics
