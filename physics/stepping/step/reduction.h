#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"

#include "physics/stepping/step/batches.h"
#include "physics/stepping/step/participation.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// The momentum balance of all blocks reduced to the participating velocities, and the recovery of
// the others.
struct Reduction {
  explicit Reduction(const StepBlocks& blocks)
      : batches(blocks.model, blocks.terms == Terms::kCompliance || blocks.terms == Terms::kMass) {}

  Batches batches;
  // By StepBlocks::spaces: the free motion (of participating blocks, at the participants only), and
  // the linear term at the participants.
  std::vector<double> v_star, linear_term;
  // Groups with which each block was factored in this step, while nothing sleeps.
  std::vector<std::vector<int>> factored_groups;
  std::vector<char> is_factored;

  // Cholesky factors of the diagonal blocks A_gg of the participating groups: start of each. Blocks
  // that already have the factor store it themselves.
  std::vector<const double*> group_factors;
  std::vector<double> factor_values;
  // Factors of the groups of ConstraintSystem::nodes, in their order.
  std::vector<const double*> node_factors;
};

// Discards the factors of the last step.
void StartReduction(const StepBlocks& blocks, Reduction* reduction);

// Factors all blocks with the participants last, and computes the motion without contact. Blocks
// already factored with the same participants in this step are kept. INTERNAL, naming the body,
// when a tangent is not positive definite.
absl::Status ReduceBlocks(const Participation& participation, StepBlocks* blocks,
                          Reduction* reduction);

// Fills in the system's blocks, v_star and linear term.
void FillBlocks(const StepBlocks& blocks, const Participation& participation,
                const Reduction& reduction, solvers::ConstraintSystem* system);

// Maps the entries of the rows to the participants, and fills in the compliance W of contacts and
// rows. INTERNAL, as ReduceBlocks.
absl::Status PlaceEntries(const StepBlocks& blocks, const Participation& participation,
                          const ConstraintSet& constraints, GroupRows* rows, Reduction* reduction,
                          solvers::ConstraintSystem* system);

// Computes all velocities `v`, by StepBlocks::spaces, from the participating ones (han2023 (15)).
// INTERNAL, naming the body, when they are not finite.
absl::Status CompleteVelocities(std::span<const double> v_participating, const StepBlocks& blocks,
                                const Participation& participation, const Reduction& reduction,
                                std::vector<double>* v);

}  // namespace pliant::physics
