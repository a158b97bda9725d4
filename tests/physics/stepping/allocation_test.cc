#include <gtest/gtest.h>

#include "physics/stepping/stepper.h"
#include "tests/counted_allocations.h"
#include "tests/physics/stepping/boxes_and_arm.h"

namespace pliant::physics {
namespace {

// Once the largest number of contacts has been seen, a step lives on the memory it has.
class Allocation : public testing::TestWithParam<MethodKind> {};

TEST_P(Allocation, ASettledRigidWorldStepsWithoutAny) {
  Model model = MakeBoxesAndArm();
  model.method.kind = GetParam();
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

INSTANTIATE_TEST_SUITE_P(Method, Allocation,
                         testing::Values(MethodKind::kConvex, MethodKind::kCorrective),
                         [](const auto& info) {
                           return std::string(info.param == MethodKind::kConvex ? "Convex"
                                                                                : "Corrective");
                         });

// The count sees what a step would do wrong.
TEST(AllocationCount, IsCounted) {
  const std::int64_t before = CountAllocations();
  const std::vector<double> grown(100);
  EXPECT_EQ(CountAllocations() - before, grown.empty() ? 0 : 1);
}

}  // namespace
}  // namespace pliant::physics
