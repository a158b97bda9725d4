#pragma once

#include <span>
#include <vector>

#include "physics/stepping/report/step_report.h"
#include "physics/stepping/step/islands.h"
#include "physics/stepping/step/warm_start.h"

namespace pliant::physics {

// Scratch of Commit.
struct CommitScratch {
  std::vector<ContactMemory> last_contacts;    // of the step before
  std::vector<std::size_t> memory_of_resting;  // in these, of each contact between sleepers
  ContactMemorySorting sorting;
  std::vector<int> island_of_block;  // of each block of the model; −1: none
};

// Advances the blocks to the end of the step, by StepBlocks::spaces: positions with `v_position`,
// and velocities to v.
void AdvanceBlocks(std::span<const double> v, std::span<const double> v_position,
                   StepBlocks* blocks, State* state, StepReport* report);

// Ends a step whose blocks have been advanced: time, controls, sleep; stores and reports the
// impulses of contacts and constraints.
void Commit(const solvers::Impulses& impulses, const StepContacts& contacts,
            const ConstraintSet& constraints, const Participation& participation,
            const solvers::ConstraintSystem& system, const Islands& islands, StepBlocks* blocks,
            CommitScratch* scratch, State* state, StepReport* report);

}  // namespace pliant::physics
