#include "physics/stepping/relinearisation.h"

#include <algorithm>

namespace pliant::physics {
namespace {

// Whether a block is nonlinear and contacts or constraints act on it. Other blocks solved their
// momentum balance when they were posed.
bool IsCoupled(const StepStages& stages, int b) {
  return stages.blocks.abilities[b].nonlinear != nullptr &&
         stages.participation.index_of_block[b] >= 0;
}

// Accepted gain of energy, as in LaggedBalance::CalcRelativeGain.
constexpr double kMaxRelativeGain = 1e-3;
// Maximum number of rounds in which blocks are posed ahead; the result of the last is accepted.
constexpr int kMaxRoundsAhead = 3;

// Updates the system's blocks after balances have changed, to solve again from the last solution.
absl::Status ReduceAgain(std::span<const double> v_participating, StepStages* stages) {
  StepBlocks& blocks = stages->blocks;
  if (absl::Status status = ReduceBlocks(stages->participation, &blocks, &stages->reduction);
      !status.ok())
    return status;
  FillBlocks(blocks, stages->participation, stages->reduction, &stages->system);
  stages->impacts.is_applied = false;
  stages->warm_start.v.assign(v_participating.begin(), v_participating.end());
  stages->contacts.num_solved = static_cast<int>(stages->contacts.points.size());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> PoseGainingBlocksAhead(std::span<const double> v,
                                            std::span<const double> v_participating, int round,
                                            StepStages* stages, StepReport* report) {
  if (round >= kMaxRoundsAhead) return false;
  StepBlocks& blocks = stages->blocks;
  std::vector<char>& is_due = stages->linearisation.is_due;
  is_due.assign(blocks.count(), 0);
  blocks.ForEachBlock([&](int b) {
    LaggedBalance* lagged = blocks.abilities[b].lagged;
    if (lagged == nullptr || blocks.sleeping.sleeps(b)) return;
    // a body that follows a prescribed one and touches nothing has no impact
    const bool is_held = !blocks.followed_bodies[b].empty();
    if (is_held && stages->participation.index_of_block[b] < 0) return;
    const std::span<const double> v_b = blocks.spaces.Part(b, v);
    blocks.statuses[b] = absl::OkStatus();
    is_due[b] = lagged->CalcRelativeGain(v_b) > kMaxRelativeGain;
    if (is_due[b]) blocks.statuses[b] = lagged->PoseAhead(v_b);
  });
  const int count = static_cast<int>(std::ranges::count(is_due, 1));
  if (count == 0) return false;
  if (absl::Status status = FirstFault(blocks); !status.ok()) return status;
  for (int b = 0; b < blocks.count(); ++b)
    if (is_due[b]) stages->reduction.is_factored[b] = 0;
  ++report->relinearisations;
  report->refactorisations += count;
  stages->linearisation.is_residual_current = false;
  if (absl::Status status = ReduceAgain(v_participating, stages); !status.ok()) return status;
  return true;
}

absl::StatusOr<bool> RelineariseStep(std::span<const double> v,
                                     std::span<const double> v_participating,
                                     absl::FunctionRef<double()> calc_residual,
                                     const RelinearisationLimits& limits, int round,
                                     StepStages* stages, StepReport* report) {
  StepBlocks& blocks = stages->blocks;
  Linearisation& last = stages->linearisation;
  last.is_residual_current = false;
  // linearised at velocities that solve nothing, the next problem is harder
  if (report->reason >= solvers::StopReason::kMaxIterations) return false;
  bool is_any_coupled = false;
  for (int b = 0; b < blocks.count() && !is_any_coupled; ++b)
    is_any_coupled = IsCoupled(*stages, b);
  if (!is_any_coupled) return false;

  // next linearisation point, halfway to it if the residual has grown; empty: there is none yet, or
  // blocks have been posed ahead since
  std::vector<double>& point = last.point;
  if (round == 0) point.clear();
  if (limits.tolerance > 0) {
    const double residual = calc_residual();
    const bool has_grown = !point.empty() && !(residual < last.residual);
    last.residual = residual;
    last.is_residual_current = true;
    if (residual <= limits.tolerance) {
      point.clear();
      return false;
    }
    if (has_grown) {
      for (std::size_t i = 0; i < point.size(); ++i) point[i] = 0.5 * (point[i] + v[i]);
    } else {
      point.assign(v.begin(), v.end());
    }
  } else {
    point.assign(v.begin(), v.end());
  }

  std::vector<char>& is_due = last.is_due;
  is_due.assign(blocks.count(), 0);
  blocks.ForEachBlock([&](int b) {
    if (!IsCoupled(*stages, b)) return;
    is_due[b] = limits.tolerance > 0 ||
                blocks.abilities[b].nonlinear->IsStale(blocks.spaces.Part(b, point));
  });
  const int count = static_cast<int>(std::ranges::count(is_due, 1));
  if (count == 0) return false;
  if (round >= limits.max_count) {
    ++report->compromises[Compromise::kRelinearisationLimit];
    return false;
  }
  blocks.ForEachBlock([&](int b) {
    blocks.statuses[b] = absl::OkStatus();
    if (!is_due[b]) return;
    blocks.statuses[b] =
        blocks.abilities[b].nonlinear->Linearise(blocks.spaces.Part(b, point), TangentKind::kExact);
    stages->reduction.is_factored[b] = 0;
  });
  if (absl::Status status = FirstFault(blocks); !status.ok()) return status;
  ++report->relinearisations;
  report->refactorisations += count;

  if (absl::Status status = ReduceAgain(v_participating, stages); !status.ok()) return status;
  return true;
}

}  // namespace pliant::physics
