#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "physics/dynamics/abilities/compliant_form.h"
#include "physics/dynamics/block.h"

namespace pliant::physics {

// Step of a block in compliance form, with a `Base` derived from BlockStep. The groups move
// independently: nothing is factored, and the participants have no Schur complement.
template <typename Base>
class CompliantStep : public Base, protected CompliantForm {
 public:
  using Base::Base;

  absl::Status Factor(std::span<const int> participants) override {
    participants_.assign(participants.begin(), participants.end());
    return absl::OkStatus();
  }
  void CalcFreeMotion(std::span<double> v_star) const override {
    std::copy(v_star_.begin(), v_star_.end(), v_star.begin());
  }
  solvers::SchurComplement schur_complement() const override { return {}; }
  StepAbilities abilities() override {
    StepAbilities abilities = Base::abilities();
    abilities.compliance = this;
    return abilities;
  }

 protected:
  std::vector<double> v_star_;     // free motion of the whole block
  std::vector<int> participants_;  // of the last Factor
};

}  // namespace pliant::physics
