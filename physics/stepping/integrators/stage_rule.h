#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace pliant::physics {

// A time integrator of one or two implicit stages of the same form. With the step (q_n, v_n) of
// length h, accelerations a = v̇, and the stages (V_j, A_j) before it, a stage finds v with
//
//   q = q̂ ⊞ c h v,   M(q) (v − v̂) = c h f(q, v)
//   q̂ = q_n ⊞ [h (start v_n + Σ before_j V_j) + past (q_n ⊟ q_{n−1})]
//   v̂ = v_n +  h (start a_n + Σ before_j A_j) + past (v_n − v_{n−1})
//
// and A = (v − v̂)/(c h). The last stage ends the step. On rotations, where ⊞ does not commute, the
// order stays 2: commutators of displacements are O(h³).
struct StageRule {
  struct Stage {
    double length = 1;  // c
    double time = 1;    // end of the stage, in steps
    double start = 0, past = 0;
    std::array<double, 1> before{};
  };
  std::string_view name;  // as in scenes: BE
  std::vector<Stage> stages;

  // Whether it needs the previous step. The first step, and a step after a change of h, then use
  // SDIRK2.
  bool uses_past() const { return stages.front().past != 0; }
  bool uses_start() const { return stages.front().start != 0; }
};

// BE, TR, BDF2, TR_BDF2 and SDIRK2, in this order, and lookup by name; null when there is none.
const std::vector<StageRule>& AllStageRules();
const StageRule* FindStageRule(std::string_view name);

// Two half steps of BE. As the first steps after a jump of the forces, they damp oscillations that
// TR would keep (Rannacher 1984).
const StageRule* TwoHalvesOfEuler();

}  // namespace pliant::physics
