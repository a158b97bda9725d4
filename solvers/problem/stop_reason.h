#pragma once

#include <array>
#include <string_view>

namespace pliant::solvers {

// Why a solve, or a step of several solves, ended. If several reasons apply, the last one in this
// list is reported.
enum class StopReason {
  kConverged,           // The tolerance was met.
  kResidual,            // The solver met its tolerance; the criterion of the whole step was missed.
  kStalled,             // The residual no longer decreases in double precision.
  kCycled,              // The iterates repeat without a better residual.
  kLinearised,          // A body's momentum balance holds only in linearised form.
  kMaxIterations,       // The budget was spent.
  kLinearSolverFailed,  // A linear system had no finite solution.
  kFactorisationFailed,  // A matrix was not positive definite.
};

inline constexpr std::array<std::string_view, 8> kStopReasonNames{"CONVERGED",
                                                                  "RESIDUAL_ABOVE_TOLERANCE",
                                                                  "STALLED",
                                                                  "CYCLED",
                                                                  "LINEARISED",
                                                                  "MAX_ITERATIONS",
                                                                  "LINEAR_SOLVER_FAILED",
                                                                  "FACTORISATION_FAILED"};

// Whether a solve ended above its tolerance at the limit of precision or of its criterion: more
// iterations would not help.
inline constexpr bool IsStalled(StopReason reason) {
  return reason == StopReason::kResidual || reason == StopReason::kStalled ||
         reason == StopReason::kCycled;
}

inline constexpr std::string_view NameOf(StopReason reason) {
  return kStopReasonNames[static_cast<int>(reason)];
}

}  // namespace pliant::solvers
