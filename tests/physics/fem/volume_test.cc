// Deformable bodies with matter in closed volumes.

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/geometry/cavities.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

// A hollow sphere with a law and a material, at a velocity that squeezes and turns it.
class InflatedSphere : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    FemParameters parameters;
    parameters.mesh = *MeshHollowSphere(0.1, 0.02, 0.05);
    parameters.materials = {{FindMaterial(std::get<0>(GetParam())), {1e5, 0.4}, 1000}};
    parameters.rayleigh_beta = 0.01;
    VolumeParameters volume;
    volume.name = "air";
    volume.law = FindVolumeLaw(std::get<1>(GetParam()));
    volume.triangles =
        FindCavities(ExtractBoundary(parameters.mesh), parameters.mesh.vertices).triangles;
    volume.rest_volume = CalcEnclosedVolume(volume.triangles, parameters.mesh.vertices);
    volume.gauge_pressure = 2e4;
    for (const VolumeParameter& parameter : volume.law->parameters())
      volume.parameters.push_back(parameter.example);
    parameters.volumes = {volume};
    block_ = MakeFemBlock(parameters);
    step_ = block_->NewStep();
    q_.resize(block_->num_positions());
    v_.resize(block_->num_velocities());
    block_->SetInitialState({q_, v_, &internals_});
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
  std::vector<double> q_, v_, direction_, internals_;
};

INSTANTIATE_TEST_SUITE_P(Volumes, InflatedSphere,
                         ::testing::Combine(::testing::Values("LINEAR", "LINEAR_COROTATIONAL",
                                                              "NEO_HOOKEAN", "LOG_NEO_HOOKEAN"),
                                            ::testing::Values("QUADRATIC", "LIQUID", "IDEAL_GAS")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param);
                         });

// Central differences: the error falls as d², down to the rounding of the potential over d.
TEST_P(InflatedSphere, HasTheMomentumResidualForTheGradientOfItsPotential) {
  EXPECT_FALSE(step_->is_linear());
  std::vector<double> residual(v_.size());
  step_->CalcMomentumResidual(v_, residual);
  double slope = 0;
  for (std::size_t i = 0; i < v_.size(); ++i) slope += residual[i] * direction_[i];
  const double d = 1e-4;
  const double difference =
      (step_->CalcPotential(Moved(d)) - step_->CalcPotential(Moved(-d))) / (2 * d);
  EXPECT_GT(std::abs(slope), 1e-3);
  EXPECT_NEAR(difference, slope, 1e-5 * std::abs(slope));
}

TEST_P(InflatedSphere, HasTheExactTangentForTheJacobianOfTheResidual) {
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
  EXPECT_LT(error, 1e-6 * size);
}

// The diagonal is that of the products with unit vectors.
TEST_P(InflatedSphere, HasTheDiagonalOfItsTangent) {
  ASSERT_TRUE(step_->Linearise(v_, TangentKind::kProjected).ok());
  std::vector<double> diagonal(v_.size()), unit(v_.size()), product(v_.size());
  step_->CalcTangentDiagonal(diagonal);
  for (std::size_t i = 0; i < v_.size(); i += 17) {
    unit.assign(v_.size(), 0.0);
    unit[i] = 1;
    step_->MultiplyTangent(unit, product);
    EXPECT_NEAR(diagonal[i], product[i], 1e-13 * diagonal[i]);
  }
}

// The Schur complement and the free motion belong to the tangent as products give it: A v* restores
// the load, and the completed velocities leave no residual on the other nodes.
TEST_P(InflatedSphere, SolvesWithTheTangentThatItMultiplies) {
  ASSERT_TRUE(step_->Linearise(v_, TangentKind::kProjected).ok());
  const std::vector<int> participants = {0, 5, 40};
  ASSERT_TRUE(step_->Factor(participants).ok());
  std::vector<double> start(step_->start_velocities().begin(), step_->start_velocities().end());
  std::vector<double> star(v_.size()), v(v_.size()), v_p(9), product(v_.size()),
      residual(v_.size());
  step_->CalcFreeMotion(star);
  for (int k = 0; k < 9; ++k) v_p[k] = star[3 * participants[k / 3] + k % 3];
  step_->Complete(v_p, v);
  // m linearised at v_: m(v_) + A (v − v_) = 0
  step_->CalcMomentumResidual(v_, residual);
  std::vector<double> change(v_.size());
  for (std::size_t i = 0; i < v.size(); ++i) change[i] = v[i] - v_[i];
  step_->MultiplyTangent(change, product);
  double size = 0;
  for (const double x : product) size = std::max(size, std::abs(x));
  for (std::size_t i = 0; i < v.size(); ++i)
    EXPECT_NEAR(product[i] + residual[i], 0, 1e-9 * size) << i;
}

TEST_P(InflatedSphere, ReportsPressureAndEnergyOfItsState) {
  const VolumeSet* volumes = block_->abilities().volumes;
  ASSERT_NE(volumes, nullptr);
  const BlockState state{q_, v_, internals_};
  EXPECT_NEAR(volumes->CalcPressure(state, 0), 2e4, 1e-8);
  std::vector<double> larger = q_;
  for (double& x : larger) x *= 1.01;
  const double energy = block_->CalcEnergies({larger, v_, internals_}, {0, 0, 0}, 0).elastic;
  std::vector<double> empty = {-kAtmosphere};
  if (std::get<1>(GetParam()) != std::string("IDEAL_GAS")) return;
  // without gas, the volume has the energy of displaced air
  const double without = block_->CalcEnergies({larger, v_, empty}, {0, 0, 0}, 0).elastic;
  const double V0 = volumes->CalcEnclosedVolume(state, 0);
  EXPECT_NEAR(energy - without, -(2e4 + kAtmosphere) * V0 * 3 * std::log(1.01), 1e-9);
}

}  // namespace
}  // namespace pliant::physics
