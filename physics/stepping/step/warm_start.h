#pragma once

#include <span>
#include <utility>
#include <vector>

#include "physics/dynamics/state.h"
#include "physics/stepping/step/detection.h"
#include "physics/stepping/step/participation.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// What a method may start from: the participants' velocities, and what was exerted in the last
// step.
struct WarmStart {
  // At the start of the step, or as solved for before the last re-detection.
  std::vector<double> v;
  // Last step's impulse of a contact that is still there, turned into its new frame and projected
  // onto its cone; zero of a new one.
  std::vector<Eigen::Vector3d> contacts;
  // Last step's impulse of a row that was there and was kept (see KeepConstraintImpulses); zero of
  // another.
  std::vector<double> rows;
  // What rows are recognised by, ascending, with their numbers.
  std::vector<std::pair<ConstraintMemory::Key, int>> row_keys;
};

// `v` are velocities to start from, by StepBlocks::spaces.
void Recall(const State& state, std::span<const double> v, const StepBlocks& blocks,
            const Participation& participation, const std::vector<ContactPoint>& contacts,
            const ConstraintSet& constraints, const solvers::ConstraintSystem& system,
            WarmStart* warm_start);

// Remembers what rows exerted, for methods that start from it; those of sleepers keep what they
// have.
void KeepConstraintImpulses(const solvers::Impulses& impulses, const StepBlocks& blocks,
                            const WarmStart& warm_start, State* state);

}  // namespace pliant::physics
