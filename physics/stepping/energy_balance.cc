#include "physics/stepping/energy_balance.h"

#include <cmath>
#include <vector>

namespace pliant::physics {
namespace {

// True for drives, and for springs between bodies, whose energy belongs to no body.
bool IsOutside(const ConstraintRow& row) {
  return row.source == ConstraintSource::kActuator || row.source == ConstraintSource::kSpring ||
         (row.source == ConstraintSource::kConstraint && std::isfinite(row.stiffness));
}

// Mean of the participants' velocities at the start and at the end of the step.
void CalcMeanVelocities(std::span<const double> v, const StepStages& stages,
                        EnergyScratch* scratch) {
  GatherParticipants(stages.blocks.v_start, stages.blocks, stages.participation, &scratch->mean);
  GatherParticipants(v, stages.blocks, stages.participation, &scratch->end);
  for (std::size_t i = 0; i < scratch->mean.size(); ++i)
    scratch->mean[i] = 0.5 * (scratch->mean[i] + scratch->end[i]);
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

  // b is the prescribed part of a contact's velocity
  for (std::size_t c = 0; c < impulses.contacts.size(); ++c) {
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

}  // namespace pliant::physics
