#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/stepping/stepper.h"
#include "tests/counted_allocations.h"
#include "tests/physics/stepping/boxes_and_arm.h"

namespace pliant::physics {
namespace {

// A method whose steps must not allocate once the largest number of contacts has occurred.
struct Method {
  MethodKind kind;
  NonsmoothOptions::LinearSolver linear_solver = NonsmoothOptions::LinearSolver::kPcr;
  bool is_maximal = false;
  CorrectiveOptions::Scheme scheme = CorrectiveOptions::Scheme::kFast;
};
class Allocation : public testing::TestWithParam<Method> {};

TEST_P(Allocation, ASettledRigidWorldStepsWithoutAny) {
  Model model = MakeBoxesAndArm(GetParam().is_maximal);
  model.method.kind = GetParam().kind;
  model.method.nonsmooth.linear_solver = GetParam().linear_solver;
  model.method.corrective.scheme = GetParam().scheme;
  if (GetParam().is_maximal)
    model.method.nonsmooth.coordinates = NonsmoothOptions::Coordinates::kMaximal;
  const auto stepper = MakeStepper(model);
  State state = MakeInitialState(model);
  StepReport report;
  const Inputs inputs;
  for (int k = 0; k < 400; ++k)
    ASSERT_TRUE(stepper->Step(inputs, model.time_step, &state, &report).ok());
  ASSERT_GE(report.contacts.size(), 12u);
  ASSERT_GE(report.constraint_forces.size(), model.actuators.size());

  const std::int64_t before = CountAllocations();
  for (int k = 0; k < 100; ++k)
    ASSERT_TRUE(stepper->Step(inputs, model.time_step, &state, &report).ok());
  EXPECT_EQ(CountAllocations() - before, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Method, Allocation,
    testing::Values(
        Method{MethodKind::kConvex}, Method{MethodKind::kCorrective},
        Method{.kind = MethodKind::kCorrective, .scheme = CorrectiveOptions::Scheme::kStandard},
        Method{.kind = MethodKind::kCorrective, .scheme = CorrectiveOptions::Scheme::kSingle},
        Method{MethodKind::kNonsmooth},
        Method{MethodKind::kNonsmooth, NonsmoothOptions::LinearSolver::kPcr, true},
        Method{MethodKind::kNonsmooth, NonsmoothOptions::LinearSolver::kGaussSeidel, true}),
    [](const auto& info) {
      const std::string name = MethodName(info.param.kind);
      if (info.param.scheme == CorrectiveOptions::Scheme::kStandard) return name + "_standard";
      if (info.param.scheme == CorrectiveOptions::Scheme::kSingle) return name + "_single";
      if (!info.param.is_maximal) return name;
      return name + (info.param.linear_solver == NonsmoothOptions::LinearSolver::kPcr
                         ? "_maximal"
                         : "_maximal_relaxed");
    });

// A mat lying on the ground with so many nodes that its Schur complement is sparse.
class SoftAllocation : public testing::TestWithParam<const char*> {};

TEST_P(SoftAllocation, ALyingMatStepsWithoutAny) {
  Model model;
  Body ground;
  ground.name = "ground";
  ground.motion = Motion::kFixed;
  ground.shapes.push_back({{}, HalfSpace{}});
  FemParameters p;
  p.mesh = *MeshBox({0.4, 0.2, 0.02}, 0.02);
  p.materials = {{FindMaterial(GetParam()), {1e5, 0.4}, 1000}};
  p.mean_dilatation = GetParam() == std::string("NEO_HOOKEAN");
  p.rayleigh_alpha = 0.1;
  p.rayleigh_beta = 0.01;
  p.X_WB.p = {0, 0, 0.01};
  Body mat;
  mat.name = "mat";
  mat.block = 0;
  mat.mesh = p.mesh;
  mat.surface = ExtractBoundary(p.mesh);
  model.sleeping = false;
  model.blocks = {MakeFemBlock(p)};
  model.bodies = {ground, mat};
  model.Finish();
  const auto stepper = MakeStepper(model);
  State state = MakeInitialState(model);
  StepReport report;
  for (int k = 0; k < 50; ++k)
    ASSERT_TRUE(stepper->Step({}, model.time_step, &state, &report).ok());
  ASSERT_GT(report.participating, 600);

  const std::int64_t before = CountAllocations();
  for (int k = 0; k < 20; ++k)
    ASSERT_TRUE(stepper->Step({}, model.time_step, &state, &report).ok());
  EXPECT_EQ(CountAllocations() - before, 0);
}

INSTANTIATE_TEST_SUITE_P(Material, SoftAllocation,
                         testing::Values("LINEAR_COROTATIONAL", "COROTATIONAL", "NEO_HOOKEAN"),
                         [](const auto& info) { return std::string(info.param); });

// Makes sure that a step that allocates would be noticed.
TEST(AllocationCount, IsCounted) {
  const std::int64_t before = CountAllocations();
  const std::vector<double> grown(100);
  EXPECT_EQ(CountAllocations() - before, grown.empty() ? 0 : 1);
}

}  // namespace
}  // namespace pliant::physics
