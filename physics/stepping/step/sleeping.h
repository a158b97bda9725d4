#pragma once

#include <span>
#include <vector>

#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/inputs.h"
#include "physics/dynamics/state.h"

namespace pliant::physics {

struct StepBlocks;

// Sleeping blocks. An island whose blocks have all been at rest for a while is not computed until
// something acts on it: an input, a prescribed motion, or contact with a moving block. Meanwhile
// its velocities are zero and its contacts and constraints keep the forces they had when it fell
// asleep. Read from State::rest and written back there.
struct Sleeping {
  std::vector<int> rest;         // of each block, as State::rest
  std::vector<char> moves;       // of each block: wakes its neighbours
  std::vector<char> disturbed;   // of each block: something acts on it in this step
  std::vector<int> island_rest;  // of each island: minimum over its blocks
  int num_asleep = 0;
  int steps_to_sleep = 0;

  bool sleeps(int block) const { return block != kWorldBlock && rest[block] < 0; }
  // True between two sleepers, or a sleeper and a part at rest.
  bool sleeps(const ContactPoint& contact) const {
    return sleeps(contact.a.block) || sleeps(contact.b.block);
  }
  bool is_any_asleep() const { return num_asleep > 0; }
};

// Reads from `state` which blocks sleep, and wakes the islands that `inputs`, new
// `blocks->controls` or prescribed motions act on.
void WakeDisturbed(const Inputs& inputs, const State& state, StepBlocks* blocks);

// Wakes the islands that touch a moving block.
void WakeTouched(std::span<const ContactPoint> contacts, StepBlocks* blocks);

// After the step: counts the steps for which blocks have been at rest, and puts to sleep the
// islands whose blocks have all rested long enough. `island_of_block`: −1 for a block that forms an
// island of its own.
void PutToSleep(std::span<const int> island_of_block, int num_islands, StepBlocks* blocks,
                State* state);

}  // namespace pliant::physics
