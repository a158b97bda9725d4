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

// What a contact remembers from the last step.
struct ContactMemory {
  std::uint64_t key = 0;
  Eigen::Vector3d impulse_W = Eigen::Vector3d::Zero();  // on B [N·s]
};

// The one with this key among `memories` of ascending keys; null when there is none.
const ContactMemory* FindContactMemory(const std::vector<ContactMemory>& memories,
                                       std::uint64_t key);

// Room to sort in.
struct ContactMemorySorting {
  std::vector<int> starts;
  std::vector<ContactMemory> sorted;
};
// By ascending keys, which are mixed (see contact_key.h), in time that grows with their number.
void SortContactMemories(std::vector<ContactMemory>* memories, ContactMemorySorting* scratch);

// What a scalar constraint remembers from the last step.
struct ConstraintMemory {
  // The same from step to step: as in ConstraintForce, and which of those that these leave alike.
  struct Key {
    ConstraintSource source = ConstraintSource::kConstraint;
    std::int32_t block = -1, index = -1, part = 0;
    auto operator<=>(const Key&) const = default;
  };
  Key key;
  double impulse = 0;  // [N·s], [N·m·s]
};

// All that changes and affects the future. Copyable, comparable bit by bit, serialisable.
struct State {
  double time = 0;  // [s]
  std::int64_t step = 0;
  std::vector<double> q;  // positions of all blocks, in Model order
  std::vector<double> v;  // velocities of all blocks, in Model order
  // Of each block, in a layout of its own, whatever else of it affects the future (see BlockState).
  std::vector<std::vector<double>> internals;
  std::vector<ContactMemory> contacts;  // ascending keys
  // Of each block: for how many steps it has been still; −1 − k while it sleeps, in the island
  // whose first block is k.
  std::vector<std::int32_t> rest;
  // What constraints of sleeping blocks exert: it is not computed meanwhile.
  std::vector<ConstraintForce> resting_constraints;
  // What the others exerted, by ascending keys, with methods that start from that.
  std::vector<ConstraintMemory> constraints;
  std::vector<double>
      controls;  // what each actuator aims at, then the rates that differential-IK controllers
  // command, in Model order
};

// 128-bit hash of every bit of the state, as 32 hexadecimal digits.
std::string HashState(const State& state);

// Versioned bytes that carry the model's hash and a checksum.
std::string SerializeState(const State& state, std::string_view model_hash);

// INVALID_ARGUMENT when the bytes are cut, damaged, of another version, or of another model than
// `model_hash`.
absl::StatusOr<State> ParseState(std::string_view bytes, std::string_view model_hash);

}  // namespace pliant::physics
