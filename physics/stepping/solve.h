#pragma once

#include <algorithm>
#include <vector>

#include "physics/stepping/relinearisation.h"
#include "physics/stepping/step/recovery.h"
#include "physics/stepping/step/stages.h"

namespace pliant::physics {

// Limits on re-detection and relinearisation; a step that reaches one is accepted as it is.
struct SolveLimits {
  int redetections = 3;
  RelinearisationLimits relinearisations;  // initially and after each re-detection
};

// The solution of a step.
struct StepSolution {
  std::vector<double> v_participating;
  std::vector<double> v;  // all velocities, by StepBlocks::spaces
  // Velocities that advance the configuration: v, and more where overlap is taken away.
  std::vector<double> v_position;
  solvers::Impulses impulses;
};

// Solves, relinearises stale tangents at the solution, and solves again; then detects contacts
// along the solved motion, and starts over with new ones until there are none. Contacts
// that push overlapping bodies apart at speed are solved once more without (see AllowOverlap), and
// the overlap is taken away by positions alone, at most at the recovery speed.
//
// `solve(k)` is called with k = 0 after contact detection, and with the number of relinearisations
// since then. It updates solution->v_participating, initially v*, and fills the impulses, which
// already have their sizes.
template <typename Solve>
absl::Status SolveStep(const State& state, const SolveLimits& limits, StepStages* stages,
                       StepReport* report, StepSolution* solution, const Solve& solve) {
  const auto solve_contacts = [&](int first) -> absl::Status {
    for (int k = first;; ++k) {
      const std::vector<double>& v_star = stages->system.v_star;
      solution->v_participating.assign(v_star.begin(), v_star.end());
      absl::Status status = solve(k);
      if (status.ok()) status = CompleteStep(solution->v_participating, *stages, &solution->v);
      if (!status.ok()) return status;
      const absl::StatusOr<bool> more =
          RelineariseStep(solution->v, solution->v_participating, solution->impulses,
                          limits.relinearisations, k, stages, report);
      if (!more.ok()) return more.status();
      if (!*more) return absl::OkStatus();
    }
  };
  for (int look = 0;; ++look) {
    solution->impulses.contacts.resize(stages->system.contacts.size());
    solution->impulses.rows.resize(stages->system.rows.size());
    if (absl::Status status = solve_contacts(0); !status.ok()) return status;
    if (look == limits.redetections) {
      if (look > 0) ++report->compromises[Compromise::kRedetectionLimit];
      break;
    }
    const absl::StatusOr<bool> more = RedetectStep(solution->v, state, stages);
    if (!more.ok()) return more.status();
    if (!*more) break;
  }

  // take overlap away by position, not by velocity
  solution->v_position = solution->v;
  const double rebound =
      AllowOverlap(solution->v_participating, solution->impulses, &stages->system);
  if (!(rebound > 0)) return absl::OkStatus();
  if (absl::Status status = solve_contacts(1); !status.ok()) return status;
  const double speed = stages->blocks.model.contact.recovery_speed;
  LimitRecovery(std::min(1.0, speed / rebound), solution->v, &solution->v_position);
  return absl::OkStatus();
}

inline void CommitStep(const StepSolution& solution, StepStages* stages, State* state,
                       StepReport* report) {
  CommitStep(solution.v, solution.v_position, solution.impulses, stages, state, report);
}

// Relative residual of the momentum balance at the solution, as CalcStepResidual.
inline double CalcSolutionResidual(const StepSolution& solution, StepStages* stages) {
  // may be known from relinearisation
  const Linearisation& last = stages->linearisation;
  return last.is_residual_current ? last.residual
                                  : CalcStepResidual(solution.v, solution.impulses, stages);
}

}  // namespace pliant::physics
