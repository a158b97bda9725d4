#include <cmath>

#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

// A twisted neo-Hookean cube in free flight, posed once.
FreeMotionReport PoseTwistedCube(const NewtonOptions& newton) {
  FemParameters parameters;
  parameters.mesh = *MeshBox({0.1, 0.1, 0.1}, 0.05);
  parameters.materials = {{FindMaterial("NEO_HOOKEAN"), {1e5, 0.4}, 1000}};
  parameters.newton = newton;
  const std::shared_ptr<const DynamicsBlock> block = MakeFemBlock(parameters);
  const std::unique_ptr<BlockStep> step = block->NewStep();
  std::vector<double> q(block->num_positions()), v(block->num_velocities());
  block->SetInitialState({q, v});
  for (std::size_t i = 0; i < q.size(); i += 3) {
    const double turn = 5 * q[i + 2];
    const Eigen::Vector2d p = Eigen::Rotation2Dd(turn) * Eigen::Vector2d(q[i], q[i + 1]);
    q[i] = p.x();
    q[i + 1] = p.y();
  }
  const absl::Status status = PoseBlock(*step, {0.01}, q, v);
  EXPECT_TRUE(status.ok()) << status;
  return step->abilities().nonlinear->free_motion_report();
}

TEST(NewtonReport, AToleranceThatIsMetIsNoCompromise) {
  const FreeMotionReport report = PoseTwistedCube({});
  EXPECT_GT(report.iterations, 1);
  EXPECT_LE(report.residual, NewtonOptions().tolerance);
  EXPECT_FALSE(report.is_above_tolerance);
}

TEST(NewtonReport, AnAcceptedResidualAboveTheToleranceIsReported) {
  // no residual reaches this tolerance, so rounding ends the iteration
  NewtonOptions unattainable;
  unattainable.tolerance = -1;
  unattainable.max_iterations = 1000;
  const FreeMotionReport report = PoseTwistedCube(unattainable);
  EXPECT_TRUE(report.is_above_tolerance);
  EXPECT_LT(report.residual, 1e-6);
}

}  // namespace
}  // namespace pliant::physics
