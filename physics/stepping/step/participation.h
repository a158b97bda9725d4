#pragma once

#include <span>
#include <utility>
#include <vector>

#include "physics/stepping/step/rows.h"

namespace pliant::physics {

// The groups of velocities that participate in a step: those on which contacts or constraints
// depend (han2023 §VI-A). Participating velocities are numbered from 0 over the blocks that have
// some, in Model order.
struct Participation {
  // A participating block; the system's block of the same index holds its terms.
  struct Block {
    int block;  // in Model::blocks
    int first;  // its first participating velocity
    int size;   // participating velocities
    int first_group, num_groups;
  };
  std::vector<Block> blocks;
  std::vector<int> index_of_block;  // index in `blocks` of each block of the model; −1: none

  // Participating groups, block by block, ascending.
  std::vector<int> groups;  // numbered within their block
  // First participating velocity of each group; one entry more than groups.
  std::vector<int> group_velocities;

  int num_velocities = 0;
  int num_touched = 0;  // velocities of touched groups; further groups may participate

  // Scratch.
  std::vector<std::pair<int, int>> touched;  // (block, group)
  std::vector<char> is_touched;              // by first velocity of a group; all zero between calls
  std::vector<int> groups_of_block;

  // Participating groups of a block of the model; empty if it does not participate.
  std::span<const int> GroupsOf(int block) const {
    if (index_of_block[block] < 0) return {};
    const Block& found = blocks[index_of_block[block]];
    return std::span(groups).subspan(found.first_group, found.num_groups);
  }
  // Index in `groups` of a group of a block of the model; −1 if it does not participate.
  int FindGroup(int block, int group) const;
  // Its first participating velocity, or −1.
  int FindVelocity(int block, int group) const {
    const int g = FindGroup(block, group);
    return g < 0 ? -1 : group_velocities[g];
  }
  int size_of_group(int g) const { return group_velocities[g + 1] - group_velocities[g]; }
};

// The participants' part of velocities `v`, by StepBlocks::spaces.
void GatherParticipants(std::span<const double> v, const StepBlocks& blocks,
                        const Participation& participation, std::vector<double>* gathered);

void FindParticipants(const StepBlocks& blocks, const RowBuffer& rows,
                      Participation* participation);

}  // namespace pliant::physics
