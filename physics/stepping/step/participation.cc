#include "physics/stepping/step/participation.h"

#include <algorithm>

namespace pliant::physics {
namespace {

// Finds the groups that rows read, or that a block in compliance form couples: ascending, each
// once.
void FindTouched(const StepBlocks& blocks, const RowBuffer& rows, Participation* participation) {
  std::vector<std::pair<int, int>>& touched = participation->touched;
  std::vector<char>& is_touched = participation->is_touched;
  touched.clear();
  is_touched.resize(blocks.spaces.size());
  const auto first_velocity = [&](int block, int group) {
    return blocks.spaces.offsets[block] + blocks.steps[block]->space().group_offset(group);
  };
  const auto touch = [&](int block, int group) {
    // most groups appear several times
    char& is_known = is_touched[first_velocity(block, group)];
    if (!is_known) touched.emplace_back(block, group);
    is_known = 1;
  };
  for (const RowBuffer::Entry& entry : rows.entries) {
    if (!entry.is_by_weights()) touch(entry.block, entry.group);
    for (const int group : rows.nodes_of(entry)) touch(entry.block, group);
  }
  for (const auto& [block, group] : touched) is_touched[first_velocity(block, group)] = 0;

  // the sets of a block in compliance form couple all of its groups that have mass
  for (int b = 0; b < blocks.count(); ++b) {
    const CompliantForm* form = blocks.abilities[b].compliance;
    if (form == nullptr || blocks.sleeping.sleeps(b)) continue;
    for (int group = 0; group < blocks.steps[b]->space().num_groups(); ++group)
      if (!form->group_mass(group).empty()) touched.emplace_back(b, group);
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
}

}  // namespace

void GatherParticipants(std::span<const double> v, const StepBlocks& blocks,
                        const Participation& participation, std::vector<double>* gathered) {
  gathered->resize(participation.num_velocities);
  for (const Participation::Block& block : participation.blocks) {
    const int offset = blocks.spaces.offsets[block.block];
    const VelocitySpace& space = blocks.steps[block.block]->space();
    for (int g = block.first_group; g < block.first_group + block.num_groups; ++g) {
      const int from = offset + space.group_offset(participation.groups[g]);
      std::copy_n(v.data() + from, participation.size_of_group(g),
                  gathered->data() + participation.group_velocities[g]);
    }
  }
}

void FindParticipants(const StepBlocks& blocks, const RowBuffer& rows,
                      Participation* participation) {
  Participation& p = *participation;
  FindTouched(blocks, rows, &p);
  p.blocks.clear();
  p.groups.clear();
  p.group_velocities.clear();
  p.index_of_block.assign(blocks.count(), -1);
  p.num_velocities = p.num_touched = 0;
  for (auto touched = p.touched.begin(); touched != p.touched.end();) {
    const int block = touched->first;
    const BlockStep& step = *blocks.steps[block];
    p.groups_of_block.clear();
    for (; touched != p.touched.end() && touched->first == block; ++touched) {
      p.groups_of_block.push_back(touched->second);
      p.num_touched += step.space().group_size(touched->second);
    }
    if (blocks.terms == Terms::kMomentum) step.ExtendParticipants(&p.groups_of_block);

    p.index_of_block[block] = static_cast<int>(p.blocks.size());
    Participation::Block added{block, p.num_velocities, 0, static_cast<int>(p.groups.size()),
                               static_cast<int>(p.groups_of_block.size())};
    for (const int group : p.groups_of_block) {
      p.groups.push_back(group);
      p.group_velocities.push_back(p.num_velocities);
      p.num_velocities += step.space().group_size(group);
    }
    added.size = p.num_velocities - added.first;
    p.blocks.push_back(added);
  }
  p.group_velocities.push_back(p.num_velocities);
}

int Participation::FindGroup(int block, int group) const {
  const std::span<const int> of_block = GroupsOf(block);
  // this finds a group if all groups before it participate
  if (group < static_cast<int>(of_block.size()) && of_block[group] == group)
    return static_cast<int>(&of_block[group] - groups.data());
  const auto found = std::lower_bound(of_block.begin(), of_block.end(), group);
  if (found == of_block.end() || *found != group) return -1;
  return static_cast<int>(&*found - groups.data());
}

}  // namespace pliant::physics
