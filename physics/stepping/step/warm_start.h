#pragma once

#include <span>
#include <utility>
#include <vector>

#include "physics/dynamics/state.h"
#include "physics/stepping/step/detection.h"
#include "physics/stepping/step/participation.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// Warm start of a method: the participants' velocities, and the impulses of the last step.
struct WarmStart {
  // Velocities at the start of the step, or those solved before the last re-detection.
  std::vector<double> v;
  // Last step's impulse of each persisting contact, rotated into its new frame and projected onto
  // its cone; zero for new contacts.
  std::vector<Eigen::Vector3d> contacts;
  // Slip speed of each contact at the velocities of the State [m/s], where `v` is interpolated from
  // these on a side of the contact (StepAbilities::map); 0 elsewhere.
  std::vector<double> slips;
  // Last step's impulse of each row that existed and was stored (see KeepConstraintImpulses); zero
  // otherwise.
  std::vector<double> rows;
  // Keys that identify rows, ascending, with the rows' numbers.
  std::vector<std::pair<ConstraintMemory::Key, int>> row_keys;
};

// Fills the warm start; `v` are the velocities to start from, by StepBlocks::spaces.
void Recall(const State& state, std::span<const double> v, const StepBlocks& blocks,
            const Participation& participation, const std::vector<ContactPoint>& contacts,
            const ConstraintSet& constraints, const solvers::ConstraintSystem& system,
            WarmStart* warm_start);

// Stores the impulses of rows, for methods that warm-start from them; sleepers keep theirs.
void KeepConstraintImpulses(const solvers::Impulses& impulses, const StepBlocks& blocks,
                            const WarmStart& warm_start, State* state);

}  // namespace pliant::physics
