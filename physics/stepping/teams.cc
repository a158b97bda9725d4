#include "physics/stepping/teams.h"

#include <algorithm>

namespace pliant::physics {
namespace {

// blocks of a kind below which lanes are left empty for more than they bring
constexpr int kFewestAlike = 3;

}  // namespace

Teams::Teams(const Model& model, bool alone) : kind_of_block_(model.blocks.size(), -1) {
  if (alone) return;
  std::vector<const void*> names;
  for (const auto& block : model.blocks) {
    const void* name = block->team_kind();
    const auto alike = [&](const auto& other) { return other->team_kind() == name; };
    if (name == nullptr || std::ranges::count_if(model.blocks, alike) < kFewestAlike) continue;
    const auto known = std::ranges::find(names, name);
    kind_of_block_[&block - model.blocks.data()] = static_cast<int>(known - names.begin());
    if (known != names.end()) continue;
    names.push_back(name);
    kinds_.push_back({block.get(), {}, 0, -1});
  }
}

void Teams::Begin() {
  teams_.clear();
  for (Kind& kind : kinds_) {
    kind.num_used = 0;
    kind.open_team = -1;
  }
}

void Teams::Add(int block) {
  const int k = kind_of_block_[block];
  if (k < 0) {
    teams_.push_back({nullptr, 1, {block}});
    return;
  }
  Kind& kind = kinds_[k];
  if (kind.open_team < 0) {
    if (kind.num_used == static_cast<int>(kind.made.size()))
      kind.made.push_back(kind.block->NewTeam());
    kind.open_team = count();
    teams_.push_back({kind.made[kind.num_used++].get(), 0, {}});
  }
  Team& team = teams_[kind.open_team];
  team.blocks[team.num_blocks++] = block;
  if (team.num_blocks == BlockTeam::kMostMembers) kind.open_team = -1;
}

}  // namespace pliant::physics
