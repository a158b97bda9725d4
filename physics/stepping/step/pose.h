#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "physics/control/controllers.h"
#include "physics/dynamics/block.h"
#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/faults/fault.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/parallel.h"
#include "physics/stepping/step/sleeping.h"

namespace pliant::physics {

// What a method asks of the blocks that take part.
enum class Terms {
  // Their free motion v* and a dense Schur complement Â.
  kFreeMotion,
  // Their momentum balance: all that a method needs whose unknowns are velocities, and cheaper.
  kMomentum,
  // The compliance form of the blocks that have one (see CompliantForm): all of their groups take
  // part, and their A is that of each group.
  kCompliance
};

// Where the velocity space of each block stands in the vectors of a step: one after another, in
// Model order. State::v has a layout of its own, the Model's.
struct StepSpaces {
  std::vector<int> offsets{0};  // first velocity of each block; one entry more than blocks

  int size() const { return offsets.back(); }
  // A block's part of a vector over all velocities of the step.
  template <typename V>
  auto Part(int block, V& v) const {
    return std::span(v).subspan(offsets[block], offsets[block + 1] - offsets[block]);
  }
};

// The blocks of a model during one step: what they can do, found once, and how they stand posed.
struct StepBlocks {
  StepBlocks(const Model& model, Terms terms);

  const Model& model;
  const Terms terms;

  // Of each block, found once.
  std::vector<std::unique_ptr<BlockStep>> steps;
  std::vector<StepAbilities> abilities;
  std::vector<char> is_prescribed;  // has no unknowns: others follow it
  std::vector<std::vector<int>> followed_bodies;
  // An actuator that acts with a given effort on a channel of the block.
  struct Motor {
    int actuator, channel;
  };
  std::vector<std::vector<Motor>> motors;
  std::vector<int> prescribed;  // the blocks that are
  bool is_parallel = false;     // whether the blocks are worth threads

  // The step as posed.
  Stage stage;
  StepSpaces spaces;
  std::vector<double> v_start;   // velocities at the start of the step, by `spaces`
  std::vector<double> controls;  // what each actuator aims at in this step
  BodyMotions motions;           // at the start of the step
  std::vector<BlockInputs> inputs;
  std::vector<char> is_posed;  // of each block; those that sleep are not
  Sleeping sleeping;

  std::vector<absl::Status> statuses;  // of each block's last operation

  int count() const { return static_cast<int>(steps.size()); }

  // Calls f(i) for 0 ≤ i < count, at the same time when blocks are worth threads.
  template <typename F>
  void ForEach(int count, const F& f) const {
    if (is_parallel) {
      ParallelFor(count, 1, f);
    } else {
      for (int i = 0; i < count; ++i) f(i);
    }
  }
  template <typename F>
  void ForEachBlock(const F& f) const {
    ForEach(count(), f);
  }
};

// Poses the momentum of all blocks that are awake over the step from `state`. INTERNAL, naming the
// body, when forces are not finite.
absl::Status PoseBlocks(const Inputs& inputs, const Stage& stage, const State& state,
                        StepBlocks* blocks);

// Poses those that woke since.
absl::Status PoseWoken(const State& state, StepBlocks* blocks);

// The first failure among `statuses`, naming the body; OK when there is none.
absl::Status FirstFault(const StepBlocks& blocks);

}  // namespace pliant::physics
