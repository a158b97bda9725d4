#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/stepping/smooth/posed_balance.h"
#include "physics/stepping/step/stages.h"

namespace pliant::physics {

// The blocks of a model in the smooth balance. Their velocities are its unknowns, in the order of
// StepBlocks::spaces.
//
// A block without an EquationOfMotion contributes the balance of its posed step, which computes its
// own positions and forces.
class BalanceBlocks {
 public:
  explicit BalanceBlocks(const Model& model);

  // Begins a step of length h from `state`.
  void Start(const StepBlocks& blocks, const State& state, double h);

  const Model& model() const { return model_; }
  int count() const { return static_cast<int>(balances_.size()); }
  ForceBalance& balance(int block) const { return *balances_[block]; }
  PosedBalance* posed(int block) const { return posed_[block]; }  // null: equation of motion
  bool is_any_posed() const { return is_any_posed_; }

  // The following functions refer to the present step.
  bool is_awake(int block) const { return !step_->sleeping.sleeps(block); }
  const BlockStep& step(int block) const { return *step_->steps[block]; }
  int num_velocities() const { return step_->spaces.size(); }
  int first_of(int block) const { return step_->spaces.offsets[block]; }
  int size_of(int block) const { return first_of(block + 1) - first_of(block); }
  template <typename V>
  auto VelocitiesOf(int block, V& v) const {
    return step_->spaces.Part(block, v);
  }
  template <typename V>
  auto PositionsOf(int block, V& q) const {
    const int first = model_.position_offsets[block];
    return std::span(q).subspan(first, model_.position_offsets[block + 1] - first);
  }
  const std::vector<double>& v_start() const { return v_start_; }

  void UseMeanRates(bool uses) {
    for (auto& balance : balances_) balance->UseMeanRates(uses);
  }

  // q ← q ⊞ x, and x with q0 ⊞ x = q1, for all blocks that are not posed.
  void Advance(std::span<const double> x, std::span<double> q) const;
  void CalcDifference(std::span<const double> q0, std::span<const double> q1,
                      std::span<double> x) const;

 private:
  const Model& model_;
  const StepBlocks* step_ = nullptr;
  std::vector<std::unique_ptr<ForceBalance>> balances_;
  std::vector<PosedBalance*> posed_;
  bool is_any_posed_ = false;
  std::vector<double> v_start_;
};

}  // namespace pliant::physics
