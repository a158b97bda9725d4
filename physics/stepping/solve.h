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
  // Velocities that advance the configuration, of the participants and all, where they differ from
  // the solved ones: overlap is taken away by position, and bodies collide in the course of a step.
  bool has_v_position = false;
  std::vector<double> v_moving, v_position;
  solvers::Impulses impulses;  // without those of collisions
  ImpactScratch impacts;
  EnergyScratch energy;
};

// Solves, relinearises stale tangents at the solution, and solves again; then detects contacts
// along the solved motion, and starts over with new ones until there are none. In the end,
// `recover()` takes overlap away by position: it sets solution->v_moving and returns true where
// there is any.
//
// `calc_residual()` is that of the momentum balance at the solution.
//
// `solve(k)` is called with k = 0 after contact detection, and with the number of relinearisations
// since then. It updates solution->v_participating, initially v*, and fills the impulses, which
// already have their sizes.
template <typename Solve, typename CalcResidual, typename Recover>
absl::Status SolveStep(const State& state, const SolveLimits& limits, StepStages* stages,
                       StepReport* report, StepSolution* solution, const Solve& solve,
                       const CalcResidual& calc_residual, const Recover& recover) {
  const double recovery_speed = stages->blocks.model.contact.recovery_speed;
  int impact_limits = 0, rounds_ahead = 0;
  for (int look = 0;; ++look) {
    solution->impulses.contacts.resize(stages->system.contacts.size());
    solution->impulses.rows.resize(stages->system.rows.size());
    LimitRecovery(stages->contacts.points, recovery_speed, &stages->system);
    impact_limits += SolveImpacts(stages, &solution->impacts);
    for (int k = 0;; ++k) {
      ApplyImpacts(stages, &solution->impacts);
      const std::vector<double>& v_star = stages->system.v_star;
      solution->v_participating.assign(v_star.begin(), v_star.end());
      absl::Status status = solve(k);
      if (status.ok()) status = CompleteStep(solution->v_participating, *stages, &solution->v);
      if (!status.ok()) return status;
      const absl::StatusOr<bool> more =
          RelineariseStep(solution->v, solution->v_participating, calc_residual,
                          limits.relinearisations, k, stages, report);
      if (!more.ok()) return more.status();
      if (*more) continue;
      const absl::StatusOr<bool> is_ahead = PoseGainingBlocksAhead(
          solution->v, solution->v_participating, rounds_ahead++, stages, report);
      if (!is_ahead.ok()) return is_ahead.status();
      if (!*is_ahead) break;
    }
    if (look == limits.redetections) {
      if (look > 0) ++report->compromises[Compromise::kRedetectionLimit];
      break;
    }
    const absl::StatusOr<bool> more = RedetectStep(solution->v, state, stages);
    if (!more.ok()) return more.status();
    if (!*more) break;
  }

  report->compromises[Compromise::kImpactLimit] += impact_limits;

  const StepImpacts& impacts = stages->impacts;
  solution->has_v_position = recovery_speed > 0 && recover();
  if (impacts.is_any) {
    if (!solution->has_v_position) solution->v_moving = solution->v_participating;
    for (std::size_t i = 0; i < impacts.setback.size(); ++i)
      solution->v_moving[i] -= impacts.setback[i];
    solution->has_v_position = true;
  }
  if (!solution->has_v_position) return absl::OkStatus();
  return CompleteStep(solution->v_moving, *stages, &solution->v_position);
}

// The same, with the residual under impulses along the directions at the start of the step.
template <typename Solve, typename Recover>
absl::Status SolveStep(const State& state, const SolveLimits& limits, StepStages* stages,
                       StepReport* report, StepSolution* solution, const Solve& solve,
                       const Recover& recover) {
  const auto calc_residual = [&] {
    return CalcStepResidual(solution->v, solution->impulses, stages);
  };
  return SolveStep(state, limits, stages, report, solution, solve, calc_residual, recover);
}

// RecoverPositions at the solution, for methods that solve no convex problem.
inline bool RecoverPositions(const State& state, Turning* turning, RecoveryScratch* scratch,
                             StepStages* stages, StepSolution* solution) {
  solution->v_moving = solution->v_participating;
  turning->Start(state, *stages);
  return RecoverPositions(stages->contacts.points, solution->impulses,
                          stages->blocks.model.contact.recovery_speed, stages->islands,
                          &stages->system, turning, scratch, &solution->v_moving);
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
  // collisions are not remembered, since they say nothing of the forces in the next step
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
