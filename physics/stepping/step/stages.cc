#include "physics/stepping/step/stages.h"

namespace pliant::physics {
namespace {

// Builds the system of the known contacts; v are the velocities to start the solver from.
absl::Status PoseSystem(const State& state, std::span<const double> v, StepStages* stages) {
  StepBlocks& blocks = stages->blocks;
  solvers::ConstraintSystem& system = stages->system;
  system.h = blocks.stage.h;
  stages->impacts.is_found = stages->impacts.is_applied = stages->impacts.is_any = false;

  // rows of contacts and constraints, and the velocities that they read
  CollectConstraints(state, blocks, &stages->gravity_compensation, &stages->constraints);
  for (int b = 0; b < blocks.count(); ++b)
    if (!blocks.sleeping.sleeps(b)) blocks.steps[b]->SetContacts(b, stages->contacts.points);
  BuildRows(blocks, &stages->contacts.points, &stages->constraints, &stages->rows, &system);
  FindParticipants(blocks, stages->rows.all, &stages->participation);

  // eliminate all other velocities
  absl::Status status = ReduceBlocks(stages->participation, &blocks, &stages->reduction);
  if (!status.ok()) return status;
  FillBlocks(blocks, stages->participation, stages->reduction, &system);
  status = PlaceEntries(blocks, stages->participation, stages->constraints, &stages->rows,
                        &stages->reduction, &system);
  if (!status.ok()) return status;

  FindIslands(system, &stages->islands);
  Recall(state, v, blocks, stages->participation, stages->contacts.points, stages->constraints,
         system, &stages->warm_start);
  return absl::OkStatus();
}

}  // namespace

absl::Status PoseStep(const Inputs& inputs, const Stage& stage, const State& state,
                      StepStages* stages) {
  StepBlocks& blocks = stages->blocks;
  absl::Status status = PoseBlocks(inputs, stage, state, &blocks);
  if (!status.ok()) return status;
  status = DetectContacts(state, &blocks, &stages->contacts);
  if (!status.ok()) return status;
  RunDifferentialIk(blocks.model, inputs, state, blocks.motions, stage.h, blocks.steps,
                    blocks.gains, &stages->ik, &blocks.controls);
  StartReduction(blocks, &stages->reduction);
  return PoseSystem(state, blocks.v_start, stages);
}

absl::StatusOr<bool> RedetectStep(std::span<const double> v, const State& state,
                                  StepStages* stages) {
  const absl::StatusOr<bool> more = RedetectContacts(v, state, &stages->blocks, &stages->contacts);
  if (!more.ok() || !*more) return more;
  if (absl::Status status = PoseSystem(state, v, stages); !status.ok()) return status;
  return true;
}

absl::Status CompleteStep(std::span<const double> v_participating, const StepStages& stages,
                          std::vector<double>* v) {
  return CompleteVelocities(v_participating, stages.blocks, stages.participation, stages.reduction,
                            v);
}

double CalcStepResidual(std::span<const double> v, const solvers::Impulses& impulses,
                        StepStages* stages) {
  CalcExertedImpulse(stages->system, impulses, &stages->residual.exerted);
  return CalcStepResidual(v, stages->residual.exerted, 0, stages);
}

double CalcStepResidual(std::span<const double> v, std::span<const double> exerted, double size,
                        StepStages* stages) {
  const StepImpacts& impacts = stages->impacts;
  if (impacts.is_any) {
    std::vector<double>& sum = stages->residual.exerted;
    if (sum.data() != exerted.data()) sum.assign(exerted.begin(), exerted.end());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += impacts.exerted[i];
    exerted = sum;
  }
  return CalcResidual(v, exerted, size, stages->blocks, stages->participation, &stages->residual);
}

void CommitStep(std::span<const double> v, std::span<const double> v_position,
                const solvers::Impulses& impulses, StepStages* stages, State* state,
                StepReport* report) {
  AdvanceBlocks(v, v_position, &stages->blocks, state, report);
  CommitStep(impulses, stages, state, report);
}

void CommitStep(const solvers::Impulses& impulses, StepStages* stages, State* state,
                StepReport* report) {
  Commit(impulses, stages->contacts, stages->constraints, stages->participation, stages->system,
         stages->islands, &stages->blocks, &stages->commit, state, report);
}

}  // namespace pliant::physics
