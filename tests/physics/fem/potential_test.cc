#include <cmath>

#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

class Potential : public ::testing::TestWithParam<const char*> {};

// The momentum residual m(v) is the gradient of the incremental potential at any velocity, whether
// or not the material is linear in v.
TEST_P(Potential, HasTheMomentumResidualForItsGradient) {
  FemParameters parameters;
  parameters.mesh = *MeshBox({0.1, 0.1, 0.1}, 0.05);
  parameters.materials = {{FindMaterial(GetParam()), {1e5, 0.4}, 1000}};
  parameters.rayleigh_beta = 0.01;
  const std::shared_ptr<const DynamicsBlock> block = MakeFemBlock(parameters);
  const std::unique_ptr<BlockStep> step = block->NewStep();
  std::vector<double> q(block->num_positions()), v(block->num_velocities());
  block->SetInitialState({q, v});
  ASSERT_TRUE(PoseBlock(*step, {0.01, 1, 1, {0, 0, -9.81}}, q, v).ok());

  // a velocity that stretches and rotates, and a direction to differentiate along
  std::vector<double> direction(v.size()), residual(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    v[i] = 3 * q[(i + 1) % v.size()] + 0.2 * (static_cast<double>(i % 5) - 2);
    direction[i] = 0.1 * (static_cast<double>(i % 7) - 3);
  }
  step->CalcMomentumResidual(v, residual);
  double slope = 0;
  for (std::size_t i = 0; i < v.size(); ++i) slope += residual[i] * direction[i];
  const auto difference = [&](double d) {
    const auto at = [&](double s) {
      std::vector<double> moved = v;
      for (std::size_t i = 0; i < v.size(); ++i) moved[i] += s * direction[i];
      return step->CalcPotential(moved);
    };
    return (at(d) - at(-d)) / (2 * d);
  };
  // central differences: the error falls as d², down to the rounding of the potential over d
  EXPECT_GT(std::abs(slope), 1e-3);
  EXPECT_NEAR(difference(1e-4), slope, 1e-5 * std::abs(slope));
}

INSTANTIATE_TEST_SUITE_P(Materials, Potential,
                         ::testing::Values("LINEAR_COROTATIONAL", "COROTATIONAL", "NEO_HOOKEAN"));

}  // namespace
}  // namespace pliant::physics
