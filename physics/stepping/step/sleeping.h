#pragma once

#include <span>
#include <vector>

#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/inputs.h"
#include "physics/dynamics/state.h"

namespace pliant::physics {

struct StepBlocks;

// Which blocks sleep. An island whose blocks have all kept still for a while is not computed until
// something acts on it: an input, a prescribed motion, or contact with a block that moves. Its
// velocities are zero meanwhile, its contacts and constraints exert what they exerted when it fell
// asleep. All of this is read from State::rest and written back there.
struct Sleeping {
  std::vector<int> rest;         // of each block, as State::rest
  std::vector<char> moves;       // of each block: makes its neighbours move
  std::vector<char> disturbed;   // of each block: something acts on it in this step
  std::vector<int> island_rest;  // of each island: the least rest of its blocks
  int num_asleep = 0;
  int steps_to_sleep = 0;

  bool sleeps(int block) const { return block != kWorldBlock && rest[block] < 0; }
  // Between two sleepers, or a sleeper and a part that stands still.
  bool sleeps(const ContactPoint& contact) const {
    return sleeps(contact.a.block) || sleeps(contact.b.block);
  }
  bool is_any_asleep() const { return num_asleep > 0; }
};

// Reads from `state` which blocks sleep, and wakes the islands that `inputs`, new
// `blocks->controls` or prescribed motions act on.
void WakeDisturbed(const Inputs& inputs, const State& state, StepBlocks* blocks);

// Wakes the islands that touch a block that moves.
void WakeTouched(std::span<const ContactPoint> contacts, StepBlocks* blocks);

// After the step: counts how long blocks have been still, and puts to sleep the islands of which
// every block has been for long enough. `island_of_block`: −1 where a block is one by itself.
void PutToSleep(std::span<const int> island_of_block, int num_islands, StepBlocks* blocks,
                State* state);

}  // namespace pliant::physics
