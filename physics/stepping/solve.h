#pragma once

#include <algorithm>
#include <vector>

#include "physics/stepping/energy_balance.h"
#include "physics/stepping/impacts.h"
#include "physics/stepping/recovery.h"
#include "physics/stepping/relinearisation.h"
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
  // Velocities that advance the configuration, of the participants and of all blocks, if they
  // differ from the solved ones: overlap is removed by position, and bodies collide within the
  // step.
  bool has_v_position = false;
  std::vector<double> v_position_participating, v_position;
  solvers::Impulses impulses;  // without those of collisions
  ImpactScratch impacts;
  EnergyScratch energy;
};

// Parts of the solution of a step that a method provides.
template <typename Solve, typename CalcResidual, typename MeetsTolerance, typename Recover>
struct SolveCalls {
  // Called with k = 0 after contact detection, and with the number of relinearisations since then.
  // Updates solution->v_participating, initially v*, and fills the impulses, which already have
  // their sizes. May set the reason in the report: if no solution was found, the step ends without
  // another relinearisation.
  Solve solve;
  // Residual of the momentum balance at the solution.
  CalcResidual calc_residual;
  // Whether to end the step with the solution once there are no new contacts: it meets the method's
  // tolerance, or another attempt would not. `attempt` counts from 0.
  MeetsTolerance meets_tolerance;
  // Removes overlap by position: sets solution->v_position_participating and returns true if there
  // is any.
  Recover recover;
};
// clang deduces no arguments of aggregates before version 17
template <typename... F>
SolveCalls(F...) -> SolveCalls<F...>;

// Solves with the contacts of the system: relinearises stale tangents at the solution, poses ahead
// the blocks that gained energy, and solves again. `rounds_ahead` counts the latter rounds.
template <typename... F>
absl::Status SolveSystem(const RelinearisationLimits& limits, StepStages* stages,
                         StepReport* report, StepSolution* solution, const SolveCalls<F...>& method,
                         int* rounds_ahead) {
  for (int k = 0;; ++k) {
    ApplyImpacts(stages, &solution->impacts);
    const std::vector<double>& v_star = stages->system.v_star;
    solution->v_participating.assign(v_star.begin(), v_star.end());
    absl::Status status = method.solve(k);
    if (status.ok()) status = CompleteStep(solution->v_participating, *stages, &solution->v);
    if (!status.ok()) return status;
    absl::StatusOr<bool> more = RelineariseStep(solution->v, solution->v_participating,
                                                method.calc_residual, limits, k, stages, report);
    if (more.ok() && !*more) {
      more = PoseGainingBlocksAhead(solution->v, solution->v_participating, (*rounds_ahead)++,
                                    stages, report);
    }
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
  }
}

// Solves a posed step: with its contacts, then with those along the solution, and again while the
// solution does not meet the tolerance. At the end, overlap is removed.
template <typename... F>
absl::Status SolveStep(const State& state, const SolveLimits& limits, StepStages* stages,
                       StepReport* report, StepSolution* solution, const SolveCalls<F...>& method) {
  const double recovery_speed = stages->blocks.model.contact.recovery_speed;
  int impact_limits = 0;
  for (int attempt = 0;; ++attempt) {
    int rounds_ahead = 0;
    const auto solve = [&] {
      solution->impulses.contacts.resize(stages->system.contacts.size());
      solution->impulses.rows.resize(stages->system.rows.size());
      LimitRecovery(stages->contacts.points, recovery_speed, &stages->system);
      impact_limits += SolveImpacts(stages, &solution->impacts);
      return SolveSystem(limits.relinearisations, stages, report, solution, method, &rounds_ahead);
    };
    const absl::Status status = SolveAndRedetect(limits.redetections, report, solve, [&] {
      return RedetectStep(solution->v, state, stages);
    });
    if (!status.ok()) return status;
    if (method.meets_tolerance(attempt)) break;
  }

  report->compromises[Compromise::kImpactLimit] += impact_limits;

  const StepImpacts& impacts = stages->impacts;
  solution->has_v_position = recovery_speed > 0 && method.recover();
  if (impacts.is_any) {
    if (!solution->has_v_position) solution->v_position_participating = solution->v_participating;
    for (std::size_t i = 0; i < impacts.setback.size(); ++i)
      solution->v_position_participating[i] -= impacts.setback[i];
    solution->has_v_position = true;
  }
  if (!solution->has_v_position) return absl::OkStatus();
  return CompleteStep(solution->v_position_participating, *stages, &solution->v_position);
}

// The same for methods that make one attempt. Their residual is that of CalcStepResidual.
template <typename Solve, typename Recover>
absl::Status SolveStep(const State& state, const SolveLimits& limits, StepStages* stages,
                       StepReport* report, StepSolution* solution, const Solve& solve,
                       const Recover& recover) {
  const SolveCalls method{solve,
                          [&] { return CalcStepResidual(solution->v, solution->impulses, stages); },
                          [](int) { return true; }, recover};
  return SolveStep(state, limits, stages, report, solution, method);
}

// RecoverPositions at the solution, for methods that solve no convex problem.
inline bool RecoverPositions(const State& state, RotationalClosing* closing,
                             RecoveryScratch* scratch, StepStages* stages, StepSolution* solution) {
  solution->v_position_participating = solution->v_participating;
  closing->Start(state, *stages);
  return RecoverPositions(stages->contacts.points, solution->impulses,
                          stages->blocks.model.contact.recovery_speed, stages->islands,
                          &stages->system, closing, scratch, &solution->v_position_participating);
}

inline void ReportSuppliedWork(const StepStages& stages, StepSolution* solution,
                               StepReport* report) {
  report->energy.work =
      CalcSuppliedWork(solution->v, solution->impulses, stages, &solution->energy);
  report->energy.is_exact = !stages.impacts.is_any;
}

inline void CommitStep(const StepSolution& solution, StepStages* stages, State* state,
                       StepReport* report) {
  CommitStep(solution.v, solution.has_v_position ? solution.v_position : solution.v,
             solution.impulses, stages, state, report);
  // impulses of collisions warm-start no further step, since they do not persist
  ReportImpacts(*stages, report);
}

// Relative residual of the momentum balance at the solution, as CalcStepResidual.
inline double CalcSolutionResidual(const StepSolution& solution, StepStages* stages) {
  // may be known from relinearisation
  const Linearisation& last = stages->linearisation;
  return last.is_residual_current ? last.residual
                                  : CalcStepResidual(solution.v, solution.impulses, stages);
}

}  // namespace pliant::physics
