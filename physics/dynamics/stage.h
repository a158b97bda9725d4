#pragma once

namespace pliant::physics {

// One implicit stage of a time integrator, from the view of a block. With the trial velocity v and
// the base (q0, v0), which is the start of the step or computed by the integrator from its history,
// the stage ends at q(v), forces are evaluated at q_f(v) and v_f(v), and the balance is r = 0:
//
//   q(v)   = q0 ⊞ h (move.base v0 + move.trial v)
//   q_f(v) = q0 ⊞ h (force_move.base v0 + force_move.trial v)
//   v_f(v) = force_rate.base v0 + force_rate.trial v
//   r(v)   = M (v − v0) − weight h f(q_f(v), v_f(v))
//
// Implicit Euler is the default. The one-configuration stages of TR, BDF2, TR-BDF2 and SDIRK2 have
// base = 0 throughout, with the integrator's q̂ and v̂ as the base; the θ-method of han2023 §IV
// evaluates forces between start and end. Integrators live in stepping/integrators/; blocks do not
// depend on them.
struct Stage {
  struct Blend {
    double base = 0, trial = 1;
    double operator()(double v0, double v) const { return trial * v + base * v0; }
    double sum() const { return base + trial; }
  };
  double h = 0;  // [s]
  Blend move, force_move, force_rate;
  double weight = 1;

  double impulse_scale() const { return weight * h; }  // impulse per force [s]
};

}  // namespace pliant::physics
