#include <algorithm>

#include <gtest/gtest.h>

#include "solvers/convex/sap.h"
#include "tests/solvers/convex/random_bodies.h"

namespace pliant::solvers {
namespace {

// A body of 1 kg that is drawn through a stiff stop, beside one whose energy is so large that the
// first one's decrease is lost in the rounding of the cost.
class SufficientDecrease : public ::testing::TestWithParam<SapOptions::LineSearch> {
 protected:
  SufficientDecrease() {
    const std::span<const double> mass(&one_, 1);
    whole_.system.num_velocities = 2;
    whole_.system.blocks = {{0, 1, mass}, {1, 1, mass}};
    whole_.system.v_star = {-1, kFast};
    whole_.system.linear_term = {0, 0};
    // the stop, and a brake that holds the fast body at rest
    whole_.AddRow({kStop, 0, 0, 1e300});
    whole_.AddRowEntry(0, 1, [] { return 1.0; });
    whole_.AddRow({1, 0, -2 * kFast, 0});
    whole_.AddRowEntry(1, 1, [] { return 1.0; });
  }

  static constexpr double kFast = 3e7;   // [m/s]: a cost of 2e14 J, resolved to 0.03 J
  static constexpr double kStop = 1e-6;  // [s/kg]
  const double one_ = 1;
  WholeProblem whole_;
};

TEST_P(SufficientDecrease, HoldsWhereTheCostHasNoDigitsLeft) {
  SapOptions options;
  options.line_search = GetParam();
  options.relative_tolerance = 0;
  options.absolute_tolerance = 1e-6;
  // the fast body starts at its solution: half of its velocity goes into the brake of 1 s/kg
  const std::vector<double> guess = {1, 0.5 * kFast};
  const SapResult result = whole_.Solve(guess, options);
  EXPECT_EQ(result.reason, StopReason::kConverged);
  // v = −1 + γ, v = −R γ
  EXPECT_NEAR(result.v[0], -kStop / (1 + kStop), 1e-12);
  ASSERT_GT(result.costs.size(), 1u);
  // a full Newton step to −1 m/s would cost ½ R⁻¹ = 5e5 J
  for (std::size_t k = 1; k < result.costs.size(); ++k)
    EXPECT_LE(result.costs[k], result.costs[k - 1] + 1) << k;
}

INSTANTIATE_TEST_SUITE_P(LineSearches, SufficientDecrease,
                         ::testing::Values(SapOptions::LineSearch::kExact,
                                           SapOptions::LineSearch::kBacktracking));

}  // namespace
}  // namespace pliant::solvers
