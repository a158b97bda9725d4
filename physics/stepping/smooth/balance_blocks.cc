#include "physics/stepping/smooth/balance_blocks.h"

#include <algorithm>

#include "physics/spatial/demand.h"

namespace pliant::physics {

BalanceBlocks::BalanceBlocks(const Model& model) : model_(model) {
  for (std::size_t b = 0; b < model.blocks.size(); ++b) {
    const BlockAbilities& abilities = model.abilities[b];
    posed_.push_back(nullptr);
    if (abilities.equation != nullptr) {
      balances_.push_back(abilities.equation->NewForceBalance());
      continue;
    }
    PLIANT_DEMAND(abilities.frames == nullptr);
    auto posed = std::make_unique<PosedBalance>();
    posed_.back() = posed.get();
    balances_.push_back(std::move(posed));
    is_any_posed_ = true;
  }
}

void BalanceBlocks::Start(const StepBlocks& blocks, const State& state, double h) {
  step_ = &blocks;
  v_start_.assign(num_velocities(), 0.0);
  for (int b = 0; b < count(); ++b) {
    const BlockState start = model_.StateOf(state, b);
    const std::span<double> v = VelocitiesOf(b, v_start_);
    if (posed_[b] == nullptr) std::ranges::copy(start.v, v.begin());
    if (!is_awake(b)) continue;
    if (posed_[b] != nullptr) {
      posed_[b]->Use(blocks.steps[b].get());
      std::ranges::copy(blocks.steps[b]->start_velocities(), v.begin());
    }
    balances_[b]->Start(start, blocks.inputs[b], h);
  }
}

void BalanceBlocks::Advance(std::span<const double> x, std::span<double> q) const {
  for (int b = 0; b < count(); ++b) balances_[b]->Advance(VelocitiesOf(b, x), PositionsOf(b, q));
}

void BalanceBlocks::CalcDifference(std::span<const double> q0, std::span<const double> q1,
                                   std::span<double> x) const {
  for (int b = 0; b < count(); ++b)
    balances_[b]->CalcDifference(PositionsOf(b, q0), PositionsOf(b, q1), VelocitiesOf(b, x));
}

}  // namespace pliant::physics
