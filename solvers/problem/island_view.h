#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "solvers/problem/constraint_system.h"

namespace pliant::solvers {

// Blocks, contacts and rows of a system that are coupled with no others: an independent problem,
// read in place. Blocks, contacts and rows of the island are numbered from 0 in the order of the
// lists, its velocities block by block.
struct IslandView {
  using Block = ConstraintSystem::Block;
  using Entry = ConstraintSystem::Entry;

  const ConstraintSystem* system = nullptr;
  std::span<const int> blocks, contacts, rows;  // in the system, ascending
  // For every block of the system: its index in its island, and its first velocity there.
  std::span<const int> local_block, local_first;
  int num_velocities = 0;

  const Block& block(int i) const { return system->blocks[blocks[i]]; }
  const ConstraintSystem::Contact& contact(int i) const { return system->contacts[contacts[i]]; }
  const ConstraintSystem::Row& row(int i) const { return system->rows[rows[i]]; }
  int num_blocks() const { return static_cast<int>(blocks.size()); }
  int num_contacts() const { return static_cast<int>(contacts.size()); }
  int num_rows() const { return static_cast<int>(rows.size()); }
  // First velocity of a block of the island or of an entry, numbered within the island.
  int first_of_block(int i) const { return local_first[blocks[i]]; }
  int first_of(const Entry& entry) const { return local_first[entry.block] + entry.first; }
  int block_of(const Entry& entry) const { return local_block[entry.block]; }
  // As ConstraintSystem::ForEachRun, with velocities numbered within the island.
  template <typename F>
  void ForEachRun(const Entry& entry, const F& f) const {
    system->ForEachRun(entry, local_first[entry.block], f);
  }

  // Calls f(entries, height) for each contact (height 3), then for each row (height 1).
  template <typename F>
  void ForEachConstraint(const F& f) const {
    for (const int c : contacts) f(system->entries_of(system->contacts[c]), 3);
    for (const int k : rows) f(system->entries_of(system->rows[k]), 1);
  }

  // Calls f(first, size, A, is_particle) for each dense matrix on the diagonal of A: a block's
  // matrix, or the masses of its groups. Blocks must not have a sparse A.
  template <typename F>
  void ForEachMass(const F& f) const {
    for (const int b : blocks) {
      const Block& block = system->blocks[b];
      if (!block.is_in_compliance_form())
        f(local_first[b], block.size, block.A.dense.data(), false);
      for (int m = block.first_mass; m < block.first_mass + block.num_masses; ++m) {
        const ConstraintSystem::GroupMass& mass = system->masses[m];
        f(local_first[b] + mass.first, mass.size, mass.A, block.are_particles);
      }
    }
  }

  // Copies the island's velocities from the system's, and back.
  void Gather(std::span<const double> of_system, std::vector<double>* own) const {
    own->clear();
    for (const int b : blocks) {
      const auto begin = of_system.begin() + system->blocks[b].first;
      own->insert(own->end(), begin, begin + system->blocks[b].size);
    }
  }
  void Scatter(std::span<const double> own, std::span<double> of_system) const {
    for (const int b : blocks)
      std::copy_n(&own[local_first[b]], system->blocks[b].size,
                  &of_system[system->blocks[b].first]);
  }
};

}  // namespace pliant::solvers
