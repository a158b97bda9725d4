#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "physics/stepping/stepper.h"
#include "tests/physics/stepping/boxes_and_arm.h"

namespace pliant::physics {
namespace {

// A driven arm that has come to rest on the ground, under the nonsmooth method.
struct LyingArm {
  explicit LyingArm(const NonsmoothOptions& options) : model(MakeBoxesAndArm()) {
    model.method.kind = MethodKind::kNonsmooth;
    model.method.nonsmooth = options;
    model.max_substeps = 1;
    // positions are those of the method's own forces
    stepper = MakeStepper(model);
    state = MakeInitialState(model);
    for (int k = 0; k < 300; ++k) Step(&state);
  }
  void Step(State* from) { EXPECT_TRUE(stepper->Step({}, model.time_step, from, &report).ok()); }
  Model model;
  std::unique_ptr<Stepper> stepper;
  State state;
  StepReport report;
};

TEST(NonsmoothStepper, DrivesThatStartFromWhatTheyExertedNeedFewIterations) {
  NonsmoothOptions few;
  few.friction = NonsmoothOptions::Friction::kFixedPoint;
  few.newton_iterations = 2;
  few.linear_iterations = 3;
  LyingArm exact({}), rough(few);
  const State start = exact.state;
  ASSERT_FALSE(start.constraints.empty());
  State reference = start;
  for (int k = 0; k < 20; ++k) exact.Step(&reference);
  // sag of the arm with few iterations; contact forces are warm-started in both cases
  const auto find_sag = [&](bool drives_remember) {
    State state = start;
    for (int k = 0; k < 20; ++k) {
      if (!drives_remember) state.constraints.clear();
      rough.Step(&state);
    }
    const int arm = rough.model.robots[0].joints[0].block;
    const auto q = rough.model.Positions(state, arm),
               wanted = exact.model.Positions(reference, arm);
    double sag = 0;
    for (std::size_t i = 0; i < q.size(); ++i) sag = std::max(sag, std::abs(q[i] - wanted[i]));
    return sag;
  };
  EXPECT_LT(10 * find_sag(true), find_sag(false));
}

TEST(NonsmoothStepper, WhereItStartsDoesNotChangeWhereItArrives) {
  NonsmoothOptions from_zero;
  from_zero.warm_start = false;
  const LyingArm warm({}), cold(from_zero);
  ASSERT_TRUE(warm.report.converged && cold.report.converged);
  EXPECT_FALSE(warm.state.constraints.empty());
  EXPECT_TRUE(cold.state.constraints.empty());
  ASSERT_EQ(warm.state.q.size(), cold.state.q.size());
  // each step is solved to 1e-8 m
  for (std::size_t i = 0; i < warm.state.q.size(); ++i)
    EXPECT_NEAR(warm.state.q[i], cold.state.q[i], 1e-6) << i;
}

}  // namespace
}  // namespace pliant::physics
