#include "physics/stepping/energy_balance.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pliant::physics {
namespace {

// Drives, and springs between bodies, whose energy is not that of a body.
bool IsOutside(const ConstraintRow& row) {
  return row.source == ConstraintSource::kActuator ||
         (row.source == ConstraintSource::kConstraint && std::isfinite(row.stiffness));
}

// Velocities of the participants half-way between the start and the end of the step.
void CalcMeanVelocities(std::span<const double> v, const StepStages& stages,
                        EnergyScratch* scratch) {
  GatherParticipants(stages.blocks.v_start, stages.blocks, stages.participation, &scratch->mean);
  GatherParticipants(v, stages.blocks, stages.participation, &scratch->end);
  for (std::size_t i = 0; i < scratch->mean.size(); ++i)
    scratch->mean[i] = 0.5 * (scratch->mean[i] + scratch->end[i]);
}

// Potential energy that a block reaches from the start of the step.
double CalcPotential(const StepBlocks& blocks, int b, const BlockState& start,
                     std::span<const double> v, EnergyScratch* scratch) {
  const BlockState end = scratch->trial.Integrate(*blocks.steps[b], start, v);
  return blocks.model.blocks[b]
      ->CalcEnergies(end, blocks.model.gravity, DynamicsBlock::kWholeBlock)
      .potential;
}

}  // namespace

double CalcSuppliedWork(std::span<const double> v, const solvers::Impulses& impulses,
                        const StepStages& stages, EnergyScratch* scratch) {
  const StepBlocks& blocks = stages.blocks;
  const solvers::ConstraintSystem& system = stages.system;
  double work = 0;
  for (int b = 0; b < blocks.count(); ++b)
    if (!blocks.sleeping.sleeps(b))
      work += blocks.steps[b]->CalcInputWork(blocks.spaces.Part(b, v));

  // b is the part of a contact's velocity that is prescribed
  for (std::size_t c = 0; c < system.contacts.size(); ++c) {
    work -= impulses.contacts[c].dot(system.contacts[c].bias);
    if (stages.impacts.is_any)
      work -= stages.impacts.impulses.contacts[c].dot(system.contacts[c].bias);
  }
  if (!system.rows.empty()) CalcMeanVelocities(v, stages, scratch);
  for (std::size_t k = 0; k < system.rows.size(); ++k) {
    const double bias = system.rows[k].bias;
    const double rate = IsOutside(stages.constraints.rows[k])
                            ? CalcRowRate(system, static_cast<int>(k), scratch->mean) - bias
                            : -bias;
    work += impulses.rows[k] * rate;
  }
  return work;
}

double CalcReleasedEnergy(const State& state, std::span<const double> v,
                          std::span<const double> v_position, const solvers::Impulses& impulses,
                          const StepStages& stages, EnergyScratch* scratch) {
  const StepBlocks& blocks = stages.blocks;
  const solvers::ConstraintSystem& system = stages.system;
  double released = 0;
  bool has_mean = false;
  for (std::size_t c = 0; c < system.contacts.size(); ++c) {
    // a contact that overlaps is compressed, if by no more than its regularisation
    const double impulse = impulses.contacts[c].z();
    if (!(system.contacts[c].gap < 0 && impulse > 0)) continue;
    if (!std::exchange(has_mean, true)) CalcMeanVelocities(v, stages, scratch);
    const double rate = CalcContactVelocity(system, static_cast<int>(c), scratch->mean).z();
    released += impulse * std::max(0.0, rate);
  }
  if (v.data() == v_position.data()) return released;
  for (int b = 0; b < blocks.count(); ++b) {
    const std::span<const double> of_block = blocks.spaces.Part(b, v),
                                  moving = blocks.spaces.Part(b, v_position);
    if (blocks.sleeping.sleeps(b) || std::ranges::equal(of_block, moving)) continue;
    const BlockState start = blocks.model.StateOf(state, b);
    released += CalcPotential(blocks, b, start, moving, scratch) -
                CalcPotential(blocks, b, start, of_block, scratch);
  }
  return released;
}

}  // namespace pliant::physics
