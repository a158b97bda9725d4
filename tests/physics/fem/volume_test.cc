// Deformable bodies with matter in closed volumes.

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "physics/geometry/cavities.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/fem/stretched_body.h"

namespace pliant::physics {
namespace {

// A hollow sphere with a law and a material, at a velocity that squeezes and turns it.
class InflatedSphere : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void SetUp() override {
    parameters_.mesh = *MeshHollowSphere(0.1, 0.02, 0.05);
    parameters_.materials = {{FindMaterial(std::get<0>(GetParam())), {1e5, 0.4}, 1000}};
    parameters_.rayleigh_beta = 0.01;
    VolumeParameters volume;
    volume.name = "air";
    volume.law = FindVolumeLaw(std::get<1>(GetParam()));
    volume.triangles =
        FindCavities(ExtractBoundary(parameters_.mesh), parameters_.mesh.vertices).triangles;
    volume.rest_volume = CalcEnclosedVolume(volume.triangles, parameters_.mesh.vertices);
    volume.gauge_pressure = 2e4;
    for (const VolumeParameter& parameter : volume.law->parameters())
      volume.parameters.push_back(parameter.example);
    parameters_.volumes = {volume};
    body_ = std::make_unique<StretchedBody>(parameters_);
  }

  FemParameters parameters_;
  std::unique_ptr<StretchedBody> body_;
};

INSTANTIATE_TEST_SUITE_P(Volumes, InflatedSphere,
                         ::testing::Combine(::testing::Values("LINEAR", "LINEAR_COROTATIONAL",
                                                              "NEO_HOOKEAN", "LOG_NEO_HOOKEAN"),
                                            ::testing::Values("QUADRATIC", "LIQUID", "IDEAL_GAS")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param);
                         });

TEST_P(InflatedSphere, HasTheMomentumResidualForTheGradientOfItsPotential) {
  EXPECT_NE(body_->step->abilities().nonlinear, nullptr);
  body_->ExpectResidualIsGradient();
}

TEST_P(InflatedSphere, HasTheExactTangentForTheJacobianOfTheResidual) {
  body_->ExpectTangentIsJacobian(1e-6);
}

// The diagonal is that of the products with unit vectors.
TEST_P(InflatedSphere, HasTheDiagonalOfItsTangent) {
  body_->Linearise(TangentKind::kProjected);
  std::vector<double> diagonal(body_->v.size()), unit(body_->v.size()), product(body_->v.size());
  body_->step->CalcTangentDiagonal(diagonal);
  for (std::size_t i = 0; i < body_->v.size(); i += 17) {
    unit.assign(body_->v.size(), 0.0);
    unit[i] = 1;
    body_->step->MultiplyTangent(unit, product);
    EXPECT_NEAR(diagonal[i], product[i], 1e-13 * diagonal[i]);
  }
}

// The Schur complement and the free motion belong to the tangent as products give it: A v* restores
// the load, and the completed velocities leave no residual on the other nodes.
TEST_P(InflatedSphere, SolvesWithTheTangentThatItMultiplies) {
  body_->Linearise(TangentKind::kProjected);
  const std::vector<int> participants = {0, 5, 40};
  ASSERT_TRUE(body_->step->Factor(participants).ok());
  std::vector<double> start(body_->step->start_velocities().begin(),
                            body_->step->start_velocities().end());
  std::vector<double> star(body_->v.size()), v(body_->v.size()), v_p(9), product(body_->v.size()),
      residual(body_->v.size());
  body_->step->CalcFreeMotion(star);
  for (int k = 0; k < 9; ++k) v_p[k] = star[3 * participants[k / 3] + k % 3];
  body_->step->Complete(v_p, v);
  // m linearised at body_->v: m(body_->v) + A (v − body_->v) = 0
  body_->step->CalcMomentumResidual(body_->v, residual);
  std::vector<double> change(body_->v.size());
  for (std::size_t i = 0; i < v.size(); ++i) change[i] = v[i] - body_->v[i];
  body_->step->MultiplyTangent(change, product);
  double size = 0;
  for (const double x : product) size = std::max(size, std::abs(x));
  for (std::size_t i = 0; i < v.size(); ++i)
    EXPECT_NEAR(product[i] + residual[i], 0, 1e-9 * size) << i;
}

// The energy of what fills the sphere, without that of the wall, falls by p dV as the sphere grows.
TEST_P(InflatedSphere, ReportsPressureAndEnergyOfItsState) {
  const VolumeSet* volumes = body_->block->abilities().volumes;
  ASSERT_NE(volumes, nullptr);
  EXPECT_NEAR(volumes->CalcPressure({body_->q, body_->v, body_->internals}, 0), 2e4, 1e-8);
  FemParameters empty = parameters_;
  empty.volumes.clear();
  const std::shared_ptr<const DynamicsBlock> wall = MakeFemBlock(empty);
  struct Filling {
    double energy, volume, pressure;
  };
  const auto grow = [&](double scale) {
    std::vector<double> q = body_->q;
    for (double& x : q) x *= scale;
    const BlockState state{q, body_->v, body_->internals};
    return Filling{body_->block->CalcEnergies(state, {0, 0, 0}, 0).elastic -
                       wall->CalcEnergies({q, body_->v, {}}, {0, 0, 0}, 0).elastic,
                   volumes->CalcEnclosedVolume(state, 0), volumes->CalcPressure(state, 0)};
  };
  // central differences: the relative error is about the square of the change of volume, 3e-4
  const Filling smaller = grow(1.01 - 1e-4), at = grow(1.01), larger = grow(1.01 + 1e-4);
  const double slope = (larger.energy - smaller.energy) / (larger.volume - smaller.volume);
  EXPECT_NEAR(-slope, at.pressure, 1e-6 * std::abs(at.pressure));
}

}  // namespace
}  // namespace pliant::physics
