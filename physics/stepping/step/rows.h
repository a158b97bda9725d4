#pragma once

#include <cstddef>
#include <vector>

#include "physics/dynamics/constraint_row.h"
#include "physics/stepping/step/pose.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// Finds the entry that a contact or row has on a group of velocities already, in constant time: a
// contact's two sides may touch the same groups. A hash table that is emptied in constant time too.
class GroupTable {
 public:
  void Clear();
  // The entry of a group of a block; where it has none, `entry` becomes it, and is returned.
  int FindOrAdd(int block, int group, int entry);

 private:
  struct Slot {
    unsigned age = 0;  // holds something when it is that of the table
    int block, group, entry;
  };
  Slot* Find(int block, int group);

  std::vector<Slot> slots_;  // a power of two, at most half of them in use
  unsigned age_ = 0;
  std::size_t count_ = 0;
};

// Rows of contacts and constraints as they are built: on groups of velocities, before it is known
// which take part.
struct RowBuffer {
  // A part of a contact's or constraint's rows on consecutive velocities of one group.
  struct Entry {
    int block;
    int group;
    int offset;  // first velocity in its group
    int columns;
    std::size_t values;
  };
  std::vector<Entry> entries;
  std::vector<double> values;
  // Of a stretch of contacts: where its entries and values begin among all.
  int first_entry = 0;
  std::size_t first_value = 0;

  // Scratch.
  BlockRows block_rows;
  GroupTable table;
  std::vector<double> work;
};

// All rows of a step, on groups. Its entries are in the order of ConstraintSystem::entries.
struct GroupRows {
  RowBuffer all;
  std::vector<RowBuffer> stretches;  // of contacts that are built side by side
};

// Limits and dry friction of joints, drives, and the model's own constraints, of all blocks that
// are awake.
void CollectConstraints(const State& state, const StepBlocks& blocks, std::vector<double>* scratch,
                        ConstraintSet* constraints);

// Builds J = R_WCᵀ (J_B − J_A) of every contact, and that of every constraint, on groups: fills
// `rows`, and in `system` contacts and rows, but for W, and the values. Contacts and constraints
// between parts whose motion is prescribed on both sides constrain nothing and are removed from the
// lists.
void BuildRows(const StepBlocks& blocks, std::vector<ContactPoint>* contacts,
               ConstraintSet* constraints, GroupRows* rows, solvers::ConstraintSystem* system);

// Contacts that are worth a thread's while, and into how many stretches of so many they are cut:
// one where blocks are not worth threads.
inline constexpr int kContactsInStretch = 64;
int CountStretches(const StepBlocks& blocks, int num_contacts);

// Calls f(stretch, begin, end) of the stretches of contacts, side by side where there are several.
template <typename F>
void ForEachStretch(const StepBlocks& blocks, int num_contacts, const F& f) {
  const int stretches = CountStretches(blocks, num_contacts);
  blocks.ForEach(stretches, [&](int s) {
    const int begin = s * kContactsInStretch;
    f(s, begin, s + 1 < stretches ? begin + kContactsInStretch : num_contacts);
  });
}

}  // namespace pliant::physics
