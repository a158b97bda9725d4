#include "physics/stepping/energy_balance.h"

#include <cmath>
#include <vector>

namespace pliant::physics {
namespace {

// Drives, and springs between bodies, whose energy is not that of a body.
bool IsOutside(const ConstraintRow& row) {
  return row.source == ConstraintSource::kActuator || row.source == ConstraintSource::kSpring ||
         (row.source == ConstraintSource::kConstraint && std::isfinite(row.stiffness));
}

}  // namespace

double CalcSuppliedWork(std::span<const double> v, const solvers::Impulses& impulses,
                        const StepStages& stages) {
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
  std::vector<double> mean, end;
  GatherParticipants(blocks.v_start, blocks, stages.participation, &mean);
  GatherParticipants(v, blocks, stages.participation, &end);
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = 0.5 * (mean[i] + end[i]);
  for (std::size_t k = 0; k < system.rows.size(); ++k) {
    const double bias = system.rows[k].bias;
    const double rate = IsOutside(stages.constraints.rows[k])
                            ? CalcRowRate(system, static_cast<int>(k), mean) - bias
                            : -bias;
    work += impulses.rows[k] * rate;
  }
  return work;
}

}  // namespace pliant::physics
