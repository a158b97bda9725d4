#include <cmath>

#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/rigid/rigid_body_block.h"
#include "physics/stepping/stepper.h"

namespace pliant::physics {
namespace {

// A soft ball resting on the ground under a kinematic plate, built without scene files.
struct Press {
  Press() {
    const TetrahedralMesh mesh = *MeshSphere(0.05, 0.017);
    Body ground;
    ground.name = "ground";
    ground.motion = Motion::kFixed;
    ground.shapes.push_back({{}, HalfSpace{}});
    FemParameters p;
    p.mesh = mesh;
    p.materials = {{FindMaterial("LINEAR_COROTATIONAL"), {5e4, 0.4}, 1000}};
    p.rayleigh_beta = 0.01;
    p.X_WB.p = {0, 0, 0.05};
    Body ball;
    ball.name = "ball";
    ball.block = 0;
    ball.mesh = mesh;
    ball.surface = ExtractBoundary(mesh);
    Body plate;
    plate.name = "plate";
    plate.motion = Motion::kKinematic;
    plate.block = 1;
    plate.X_WB.p = {0, 0, 0.115};
    plate.shapes.push_back({{}, Box{{0.02, 0.06, 0.01}}});
    model.blocks = {MakeFemBlock(p), MakeKinematicBodyBlock(2, plate.X_WB)};
    model.bodies = {ground, ball, plate};
    model.Finish();
    stepper = MakeStepper(model);
    state = MakeInitialState(model);
  }
  StepReport Step(double plate_height) {
    Inputs inputs;
    inputs.poses.push_back({2, {Eigen::Matrix3d::Identity(), {0, 0, plate_height}}});
    StepReport report;
    const absl::Status status = stepper->Step(inputs, model.time_step, &state, &report);
    EXPECT_TRUE(status.ok()) << status;
    return report;
  }
  Model model;
  std::unique_ptr<Stepper> stepper;
  State state;
};

TEST(ConvexStepper, EveryStepOfADeepSqueezeConverges) {
  // a reduced problem that stalls just short of its own, tighter tolerance is no failure of the
  // step
  Press press;
  for (int k = 0; k < 300; ++k) {
    const StepReport report = press.Step(std::max(0.03, 0.115 - 0.0006 * k));
    EXPECT_TRUE(report.converged) << "step " << k << " residual " << report.residual;
    EXPECT_FALSE(report.stalled()) << k;
    EXPECT_LE(report.residual, 1e-6);
    EXPECT_LE(report.cone_violation, 1e-12);
  }
}

TEST(ConvexStepper, AWorldAtRestWithoutGravityConverges) {
  Press press;
  press.model.gravity.setZero();
  for (int k = 0; k < 20; ++k) EXPECT_TRUE(press.Step(0.115).converged);
}

TEST(ConvexStepper, AFailedStepLeavesTheStateUntouched) {
  Press press;
  for (int k = 0; k < 3; ++k) press.Step(0.115);
  const std::string before = HashState(press.state);
  Inputs inputs;
  inputs.forces.push_back(
      {1, -1, true, Eigen::Vector3d::Zero(), {std::nan(""), 0, 0}, Eigen::Vector3d::Zero()});
  StepReport report;
  const absl::Status status = press.stepper->Step(inputs, 0.01, &press.state, &report);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.ToString().find("body \"ball\""), std::string::npos) << status;
  EXPECT_EQ(HashState(press.state), before);
}

TEST(ConvexStepper, TheWorkspaceChangesNoResult) {
  Press press;
  for (int k = 0; k < 40; ++k) press.Step(0.115 - 0.001 * k);
  State copy = press.state;
  const StepReport used = press.Step(0.07);
  // a fresh stepper on the same state
  const auto fresh = MakeStepper(press.model);
  Inputs inputs;
  inputs.poses.push_back({2, {Eigen::Matrix3d::Identity(), {0, 0, 0.07}}});
  StepReport report;
  ASSERT_TRUE(fresh->Step(inputs, press.model.time_step, &copy, &report).ok());
  EXPECT_GT(used.contacts.size(), 3u);
  EXPECT_EQ(HashState(copy), HashState(press.state));
}

}  // namespace
}  // namespace pliant::physics
