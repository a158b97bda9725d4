#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "physics/dynamics/constraint_row.h"
#include "physics/stepping/step/pose.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// Finds the existing entry of a contact or row on a group of velocities in constant time: both
// sides of a contact may touch the same groups. Few entries are in a list, more in a hash table
// that is also cleared in constant time.
class GroupTable {
 public:
  void Clear();
  // Returns the entry of a group of a block; inserts `entry` if there is none.
  int FindOrAdd(int block, int group, int entry) {
    if (count_ > kMaxListed) return FindOrHash(block, group, entry);
    for (std::size_t i = 0; i < count_; ++i)
      if (list_[i].group == group && list_[i].block == block) return list_[i].entry;
    if (count_ == kMaxListed) return FindOrHash(block, group, entry);
    list_[count_++] = {block, group, entry};
    return entry;
  }

 private:
  static constexpr std::size_t kMaxListed = 8;
  struct Listed {
    int block, group, entry;
  };
  struct Slot {
    unsigned age = 0;  // the slot is in use when this equals age_
    int block, group, entry;
  };
  int FindOrHash(int block, int group, int entry);
  Slot* Find(int block, int group);

  Listed list_[kMaxListed];
  std::vector<Slot> slots_;  // a power of two, at most half of them in use
  unsigned age_ = 0;
  std::size_t count_ = 0;
};

// Rows of contacts and constraints under construction, on groups of velocities, before the
// participants are known.
struct RowBuffer {
  // The part of a contact's or constraint's rows on consecutive velocities of one group, or on
  // several groups by weights.
  struct Entry {
    int block;
    int group;   // not by weights
    int offset;  // first velocity in its group
    int columns;
    std::size_t values;  // by weights: Q, then the weights, as in ConstraintSystem::Entry
    int first_node = 0, num_nodes = 0;  // in `nodes`; the latter is zero unless by weights

    bool is_by_weights() const { return num_nodes > 0; }
  };
  std::vector<Entry> entries;
  std::vector<double> values;
  // Groups of entries by weights, which successive entries may share; the block and the start of
  // those that were added last.
  std::vector<int> nodes;
  int last_block = -1, last_first_node = 0;
  // For a chunk of contacts: offsets of its entries, values and nodes among all.
  int first_entry = 0, first_node = 0;
  std::size_t first_value = 0;

  std::span<const int> nodes_of(const Entry& entry) const {
    return {nodes.data() + entry.first_node, static_cast<std::size_t>(entry.num_nodes)};
  }
  void Clear() {
    entries.clear();
    values.clear();
    nodes.clear();
    last_block = -1;
    last_first_node = 0;
  }

  // Scratch.
  BlockRows block_rows;
  GroupTable table;
  std::vector<double> work;
};

// All rows of a step, on groups. Its entries are in the order of ConstraintSystem::entries.
struct GroupRows {
  RowBuffer all;
  std::vector<RowBuffer> stretches;  // chunks of contacts, built in parallel
};

// Collects joint limits and dry friction, drives, and the model's own constraints, of all awake
// blocks.
void CollectConstraints(const State& state, const StepBlocks& blocks, std::vector<double>* scratch,
                        ConstraintSet* constraints);

// Builds J = R_WCᵀ (J_B − J_A) of every contact, and J of every constraint, on groups. Fills
// `rows`, and the contacts and rows of `system` except W and the values. Contacts and constraints
// whose sides both have prescribed motion, and contacts at points that no velocity moves, constrain
// nothing and are removed from the lists.
void BuildRows(const StepBlocks& blocks, std::vector<ContactPoint>* contacts,
               ConstraintSet* constraints, GroupRows* rows, solvers::ConstraintSystem* system);

// Contacts per chunk, enough to pay for a thread, and the number of chunks; one chunk when threads
// do not pay off.
inline constexpr int kContactsInStretch = 64;
int CountStretches(const StepBlocks& blocks, int num_contacts);

// Calls f(stretch, begin, end) for the chunks of contacts, in parallel when there are several.
template <typename F>
void ForEachStretch(const StepBlocks& blocks, int num_contacts, const F& f) {
  const int stretches = CountStretches(blocks, num_contacts);
  blocks.ForEach(stretches, [&](int s) {
    const int begin = s * kContactsInStretch;
    f(s, begin, s + 1 < stretches ? begin + kContactsInStretch : num_contacts);
  });
}

}  // namespace pliant::physics
