#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"

#include "physics/stepping/step/batches.h"
#include "physics/stepping/step/participation.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// The momentum of all blocks reduced to the velocities that take part, and how the others follow
// these.
struct Reduction {
  explicit Reduction(const StepBlocks& blocks)
      : batches(blocks.model, blocks.terms == Terms::kCompliance) {}

  Batches batches;
  // By StepBlocks::spaces: the free motion, of a block that takes part at the participants alone;
  // and the linear term there.
  std::vector<double> v_star, linear_term;
  // Of each block: the groups that it was factored with in this step, while nothing sleeps.
  std::vector<std::vector<int>> factored_groups;
  std::vector<char> is_factored;

  // Cholesky factors of the diagonal blocks A_gg of the participating groups: where each begins.
  // Blocks that have their factor anyway keep it.
  std::vector<const double*> group_factors;
  std::vector<double> factor_values;
};

// Forgets what the last step factored.
void StartReduction(const StepBlocks& blocks, Reduction* reduction);

// Factors all blocks with the participants last, and lets everything move as if nothing touched.
// Blocks that were factored with the same participants in this step stay. INTERNAL, naming the
// body, when a tangent is not positive definite.
absl::Status ReduceBlocks(const Participation& participation, StepBlocks* blocks,
                          Reduction* reduction);

// Fills in the system's blocks, v_star and linear term.
void FillBlocks(const StepBlocks& blocks, const Participation& participation,
                const Reduction& reduction, solvers::ConstraintSystem* system);

// Places the entries of the rows on the participants, and fills in the compliance W of contacts and
// rows. INTERNAL, as ReduceBlocks.
absl::Status PlaceEntries(const StepBlocks& blocks, const Participation& participation,
                          const ConstraintSet& constraints, GroupRows* rows, Reduction* reduction,
                          solvers::ConstraintSystem* system);

// All velocities `v`, by StepBlocks::spaces, from the participating ones (han2023 (15)). INTERNAL,
// naming the body, when not finite.
absl::Status CompleteVelocities(std::span<const double> v_participating, const StepBlocks& blocks,
                                const Participation& participation, const Reduction& reduction,
                                std::vector<double>* v);

}  // namespace pliant::physics
