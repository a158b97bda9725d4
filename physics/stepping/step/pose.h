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

// Terms that a method requires of the participating blocks.
enum class Terms {
  // Free motion v* and a dense Schur complement Â.
  kFreeMotion,
  // Momentum balance: cheaper, and sufficient for methods whose unknowns are velocities.
  kMomentum,
  // Compliance form of the blocks that have one (see CompliantForm): all of their groups
  // participate, each with its own A.
  kCompliance,
  // Inertia alone: for methods that evaluate the blocks' forces themselves (see ForceBalance).
  kMass
};

// Offsets of the blocks' velocity spaces in the vectors of a step, concatenated in Model order.
// State::v has its own layout, the Model's.
struct StepSpaces {
  std::vector<int> offsets{0};  // first velocity of each block; one entry more than blocks

  int size() const { return offsets.back(); }
  // A block's part of a vector over all velocities of the step.
  template <typename V>
  auto Part(int block, V& v) const {
    return std::span(v).subspan(offsets[block], offsets[block + 1] - offsets[block]);
  }
};

// The blocks of a model during one step: their abilities, looked up once, and their posed terms.
struct StepBlocks {
  StepBlocks(const Model& model, Terms terms);

  const Model& model;
  const Terms terms;

  // Per block, looked up once.
  std::vector<std::unique_ptr<BlockStep>> steps;
  std::vector<StepAbilities> abilities;
  std::vector<char> is_prescribed;  // has no unknowns; other blocks may follow it
  std::vector<std::vector<int>> followed_bodies;
  std::vector<double> contact_beta;  // FrameSet::contact_beta, or that of a NodeSet
  // An actuator with a given effort on a channel of the block.
  struct Motor {
    int actuator, channel;
  };
  std::vector<std::vector<Motor>> motors;
  std::vector<int> prescribed;  // indices of prescribed blocks
  bool is_parallel = false;     // whether threads pay off

  // The step as posed.
  Stage stage;
  StepSpaces spaces;
  std::vector<double> v_start;   // velocities at the start of the step, by `spaces`
  std::vector<double> controls;  // target of each actuator in this step
  std::vector<double> gains;     // as State::gains
  std::vector<Inputs::ActuatorHold> holds;
  std::vector<Inputs::PointSpring> springs;
  BodyMotions motions;  // at the start of the step
  std::vector<BlockInputs> inputs;
  std::vector<char> is_posed;  // of each block; false while it sleeps
  Sleeping sleeping;

  std::vector<absl::Status> statuses;  // of each block's last operation

  int count() const { return static_cast<int>(steps.size()); }

  // Velocities of the State from those of a block's space.
  void CalcStateVelocities(int block, std::span<const double> v, std::span<double> state_v) const;
  // Replaces the velocities of a block at the end of the step by those of the solution v, where
  // other velocities have advanced its positions.
  void StoreVelocities(int block, std::span<const double> v, MutableBlockState state) const;

  // Calls f(i) for 0 ≤ i < count, in parallel when `is_parallel`.
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

// Poses the momentum balance of all awake blocks over the step from `state`. INTERNAL, naming the
// body, when forces are not finite.
absl::Status PoseBlocks(const Inputs& inputs, const Stage& stage, const State& state,
                        StepBlocks* blocks);

// Poses the blocks that woke since.
absl::Status PoseWoken(const State& state, StepBlocks* blocks);

// The first failure among `statuses`, naming the body; OK when there is none.
absl::Status FirstFault(const StepBlocks& blocks);

}  // namespace pliant::physics
