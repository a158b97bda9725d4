#pragma once

#include "physics/dynamics/stage.h"

namespace pliant::physics {

// Stage of the θ-method (han2023 §IV): q = q0 + h (θ_vq v + (1 − θ_vq) v0), and forces at q_f = θ q
// + (1 − θ) q0 and v_f = θ v + (1 − θ) v0. θ = θ_vq = 1 is implicit Euler.
inline Stage ThetaMethod(double h, double theta = 1, double theta_vq = 1) {
  Stage stage;
  stage.h = h;
  stage.move = {1 - theta_vq, theta_vq};
  stage.force_move = {theta * (1 - theta_vq), theta * theta_vq};
  stage.force_rate = {1 - theta, theta};
  return stage;
}

}  // namespace pliant::physics
