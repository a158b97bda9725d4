#pragma once

#include <span>
#include <vector>

#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/inputs.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"

namespace pliant::physics {

// Which blocks sleep. An island whose blocks have all kept still for a while is not computed until something acts on it:
// an input, a prescribed motion, or contact with what moves. Its velocities are zero meanwhile, its contacts and
// constraints exert what they exerted when it fell asleep. All of this is read from State::rest and written back there;
// what is kept here is scratch.
class Sleepers {
 public:
  explicit Sleepers(const Model& model);

  // Takes over who sleeps, and wakes the islands that `inputs`, new `controls` or prescribed motions act on. `motions` are
  // of `state`.
  void Begin(const Inputs& inputs, std::span<const double> controls, double h, const State& state,
             const BodyMotions& motions);

  // Wakes the islands that touch what moves.
  void WakeTouched(std::span<const ContactPoint> contacts);

  bool sleeps(int block) const { return block != kWorldBlock && rest_[block] < 0; }
  // Between sleepers, or one and what stands still.
  bool sleeps(const ContactPoint& contact) const {
    return sleeps(contact.a.block) || sleeps(contact.b.block);
  }
  bool anyone_sleeps() const { return num_asleep_ > 0; }
  int num_asleep() const { return num_asleep_; }

  // After the step: counts how long blocks have been still, and puts to sleep the islands of which every block has been for
  // long enough. `island_of_block`: −1 where a block is one by itself.
  void End(std::span<const int> island_of_block, int num_islands, State* state);

 private:
  void Wake(int block);
  void MarkBody(int body);  // something acts on it in this step

  const Model& model_;
  std::vector<std::vector<int>> followed_;  // bodies that each block follows
  std::vector<int> rest_;                   // as State::rest
  std::vector<char> moves_;                 // blocks that make their neighbours move
  std::vector<char> disturbed_;             // blocks that something acts on in this step
  std::vector<int> least_;                  // per island
  int num_asleep_ = 0;
  int steps_to_sleep_ = 0;
};

}  // namespace pliant::physics
