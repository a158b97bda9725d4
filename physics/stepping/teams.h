#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// Who of a model's blocks are stepped together. Which block is in which team says nothing about results: a team gives each
// what it would get in any other.
class Teams {
 public:
  // With `alone`, each for itself: steps in compliance form have no teams.
  explicit Teams(const Model& model, bool alone = false);

  // Puts the blocks that are awake into teams, in their order; those that are best alone, or have too few like them in the
  // model, stand alone.
  template <typename IsAwake>
  void Assemble(const IsAwake& is_awake) {
    Begin();
    for (int b = 0; b < static_cast<int>(kind_of_block_.size()); ++b)
      if (is_awake(b)) Add(b);
  }

  int count() const { return static_cast<int>(teams_.size()); }
  std::span<const int> blocks(int team) const {
    return {teams_[team].blocks, static_cast<std::size_t>(teams_[team].num_blocks)};
  }
  BlockTeam* team(int team) const { return teams_[team].team; }  // null: of one block alone

 private:
  struct Team {
    BlockTeam* team = nullptr;
    int num_blocks = 0;
    int blocks[BlockTeam::kMostMembers];
  };
  struct Kind {
    const DynamicsBlock* block;  // one of them
    std::vector<std::unique_ptr<BlockTeam>> made;
    int num_used = 0;
    int open_team = -1;  // with room for one more
  };

  void Begin();
  void Add(int block);

  std::vector<int> kind_of_block_;  // −1: alone
  std::vector<Kind> kinds_;
  std::vector<Team> teams_;
};

}  // namespace pliant::physics
