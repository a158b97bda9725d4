#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/dynamics/constraint_row.h"

namespace pliant::physics {

// Contact impulse of the last step, by key.
struct ContactMemory {
  std::uint64_t key = 0;
  Eigen::Vector3d impulse_W = Eigen::Vector3d::Zero();  // on B [N·s]
};

// Finds a key among `memories` sorted by key; null when it is absent.
const ContactMemory* FindContactMemory(const std::vector<ContactMemory>& memories,
                                       std::uint64_t key);

// Scratch of SortContactMemories.
struct ContactMemorySorting {
  std::vector<int> starts;
  std::vector<ContactMemory> sorted;
};
// Sorts by ascending key in linear time; keys are well mixed (see contact_key.h).
void SortContactMemories(std::vector<ContactMemory>* memories, ContactMemorySorting* scratch);

// Impulse of a scalar constraint in the last step, by key.
struct ConstraintMemory {
  // Identifies a constraint from step to step: source, block and index as in ConstraintForce, and
  // `part` to tell apart constraints that share these.
  struct Key {
    ConstraintSource source = ConstraintSource::kConstraint;
    std::int32_t block = -1, index = -1, part = 0;
    auto operator<=>(const Key&) const = default;
  };
  Key key;
  double impulse = 0;  // [N·s], [N·m·s]
};

// Memory of a method with smooth contact from step to step.
struct SmoothMemory {
  // Stretch of a contact's anchor, in W, in units of the stick speed times the step.
  struct Anchor {
    std::uint64_t key = 0;
    Eigen::Vector3d stretch_W = Eigen::Vector3d::Zero();
  };
  double stiffening = 1;  // factor on the stiffness of all contacts (κ, larionov2023 §IV-D)
  double past_step = 0;   // length of the step that started at (past_q, past_v) [s]; 0: none
  std::vector<double> past_q, past_v;  // state one step ago, for multistep rules
  std::vector<Anchor> anchors;         // ascending keys

  bool empty() const { return stiffening == 1 && past_step == 0 && anchors.empty(); }
};

// All that changes and affects the future. Copyable, comparable bit by bit, serialisable.
struct State {
  double time = 0;  // [s]
  std::int64_t step = 0;
  std::vector<double> q;  // positions of all blocks, in Model order
  std::vector<double> v;  // velocities of all blocks, in Model order
  // Further state of each block that affects the future, in the block's own layout (see
  // BlockState).
  std::vector<std::vector<double>> internals;
  std::vector<ContactMemory> contacts;  // ascending keys
  // Number of steps that each block has been at rest; −1 − k while it sleeps in the island whose
  // first block is k.
  std::vector<std::int32_t> rest;
  // Forces of constraints on sleeping blocks, which are not recomputed.
  std::vector<ConstraintForce> resting_constraints;
  // Impulses of the other constraints, by ascending key, for methods that warm-start from them.
  std::vector<ConstraintMemory> constraints;
  std::vector<double>
      controls;  // target of each actuator, then the rates that differential-IK controllers
  // command, in Model order
  // Stiffness, damping and effort limit of each actuator once any was commanded; empty: the
  // Model's (see GainsOf).
  std::vector<double> gains;
  std::vector<double> drives;  // Inputs::drives of the last step
  SmoothMemory smooth;
};

// 128-bit hash of every bit of the state, as 32 hexadecimal digits.
std::string HashState(const State& state);

// Versioned bytes with the model's hash and a checksum.
std::string SerializeState(const State& state, std::string_view model_hash);

// INVALID_ARGUMENT when the bytes are truncated, damaged, of another version, or of a model with
// another hash than `model_hash`.
absl::StatusOr<State> ParseState(std::string_view bytes, std::string_view model_hash);

}  // namespace pliant::physics
