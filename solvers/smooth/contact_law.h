#pragma once

#include <cmath>

#include <Eigen/Core>

namespace pliant::solvers {

// Law of a smooth contact (larionov2023 §III-B, C): a cubic penalty or a logarithmic barrier on the
// gap, and friction that is a continuous function of the slip.
struct SmoothContactLaw {
  bool is_barrier = false;
  double distance = 1e-3;      // δ: gap below which there is force [m]
  double stiffness = 0;        // K = κ · area [N/m]
  double stick_speed = 1e-3;   // ε [m/s]
  double friction = 0;         // μ_d
  double static_friction = 0;  // μ_s ≥ μ_d
  double stribeck_speed = 0;   // v_s [m/s]; 0: μ_s is not used
  double viscous = 0;          // μ_v [N·s/m]
};

// Normal force of the penalty, λ = 3 K (δ − gap)²/δ [N]; the derivative of −b(gap), where b(gap) =
// K (δ − gap)³/δ.
template <typename T>
T CalcPenaltyForce(const SmoothContactLaw& law, const T& gap) {
  if (!(gap < law.distance)) return T(0);
  const T depth = T(law.distance) - gap;
  return T(3 * law.stiffness / law.distance) * depth * depth;
}

// B, which makes the force of the barrier equal to that of the penalty at δ/2.
inline constexpr double kBarrierScale = 0.75 / (0.69314718055994531 + 0.5);

// Normal force of the logarithmic barrier b(gap) = −B K (gap − δ)² ln(gap/δ) of incremental
// potential contact (Li et al. 2020, (6)) at a positive gap [N]. `log_ratio` is ln(gap/δ).
template <typename T>
T CalcBarrierForce(const SmoothContactLaw& law, const T& gap, const T& log_ratio) {
  if (!(gap < law.distance)) return T(0);
  const T depth = T(law.distance) - gap;
  return T(kBarrierScale * law.stiffness) * depth * (depth / gap - T(2) * log_ratio);
}

// Energy that a contact stores at a gap [J]: b(gap) of the penalty or of the barrier.
inline double CalcStoredEnergy(const SmoothContactLaw& law, double gap, double log_ratio) {
  if (!(gap < law.distance)) return 0;
  const double depth = law.distance - gap;
  return law.is_barrier ? -kBarrierScale * law.stiffness * depth * depth * log_ratio
                        : law.stiffness * depth * depth * depth / law.distance;
}

// s(x ε)/x for slip x ≥ 0 in units of ε, where s(v; ε) = 2v/ε − v²/ε² below ε and 1 beyond (13).
template <typename T>
T CalcSlipFactor(const T& x) {
  if (x < 1) return T(2) - x;
  return T(1) / x;
}

// Decay of static friction with the speed x, in units of v_s: g(x) = (2x + 1)(x − 1)² below 1 and 0
// beyond.
template <typename T>
T CalcStribeckFade(const T& x) {
  if (!(x < 1)) return T(0);
  return (T(2) * x + T(1)) * (x - T(1)) * (x - T(1));
}

// Direction of friction, s(‖slip‖ ε; ε) slip/‖slip‖, at a slip in units of ε.
template <typename T>
Eigen::Matrix<T, 3, 1> CalcFrictionDirection(const Eigen::Matrix<T, 3, 1>& slip) {
  using std::sqrt;
  return slip * CalcSlipFactor(T(sqrt(slip.squaredNorm())));
}

// Friction force on B [N] at the relative velocity u of B against A in the tangent plane [m/s] and
// the direction of friction, which is that of the slip z/(h ε) + u/ε: a contact with stretch z
// sticks to its anchor. Viscous friction is full at gaps up to ¾ δ.
template <typename T>
Eigen::Matrix<T, 3, 1> CalcFriction(const SmoothContactLaw& law, const T& normal_force,
                                    const T& gap, const Eigen::Matrix<T, 3, 1>& u,
                                    const Eigen::Matrix<T, 3, 1>& direction) {
  using std::sqrt;
  T coefficient = T(law.friction);
  if (law.stribeck_speed > 0) {
    coefficient += T(law.static_friction - law.friction) *
                   CalcStribeckFade(T(sqrt(u.squaredNorm()) / T(law.stribeck_speed)));
  }
  Eigen::Matrix<T, 3, 1> force = direction * T(-coefficient * normal_force);
  if (law.viscous > 0 && gap < law.distance) {
    const T x = (T(law.distance) - gap) / T(0.25 * law.distance);
    const T fade = x < 1 ? T(x * x * (T(3) - T(2) * x)) : T(1);
    force -= u * (T(law.viscous) * fade);
  }
  return force;
}

}  // namespace pliant::solvers
