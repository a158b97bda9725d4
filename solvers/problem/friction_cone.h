#pragma once

#include <algorithm>
#include <cmath>
#include <immintrin.h>
#include <limits>

#include <Eigen/Core>

namespace pliant::solvers {

// The friction cone ‖γ_t‖ ≤ μ γ_n and the two maps onto it that the methods use. The projection
// returns the nearest point in the norm of a regularisation R, with its derivative (SAP, and the
// proximal Newton method of the non-smooth solver). The clip leaves the normal part as it is
// (projected Gauss–Seidel, natural maps, and impulses reused from the step before).

enum class ConeMode { kStick, kSlide, kOpen };

// The impulse of a regularised contact and its derivative with respect to the contact velocity.
struct ConeProjection {
  Eigen::Vector3d gamma;  // [N·s], (t1, t2, n); ‖γ_t‖ ≤ μ γ_n
  Eigen::Matrix3d G;      // −∂γ/∂v_c [kg], symmetric positive semi-definite
  ConeMode mode;
};

// Projects the unconstrained impulse y onto the friction cone in the norm of R (han2023 (20)–(22)).
//
// y     R⁻¹ (v̂ − v_c) [N·s], tangential components first, normal component last
// R     diagonal regularisation (R_t, R_t, R_n) [1/kg], all positive; the first two are equal
// mu    coefficient of friction, ≥ 0
ConeProjection ProjectOntoFrictionCone(const Eigen::Vector3d& y, const Eigen::Vector3d& R,
                                       double mu);

// The impulse alone, as a line search needs it.
Eigen::Vector3d ProjectImpulse(const Eigen::Vector3d& y, const Eigen::Vector3d& R, double mu);

// Projects `tangential` onto the disc of radius `limit` ≥ 0.
inline void ClipFriction(double limit, Eigen::Ref<Eigen::Vector2d> tangential) {
  const double x = tangential.x(), y = tangential.y();
  const double length = std::sqrt(x * x + y * y);
  if (length > limit) tangential *= limit / length;
}

// Clips the normal part to its bounds, then the tangential part to μ times the normal part.
inline Eigen::Vector3d ClipToCone(Eigen::Vector3d impulse, double mu, double lower = 0,
                                  double upper = std::numeric_limits<double>::infinity()) {
  impulse.z() = std::min(std::max(impulse.z(), lower), upper);
  ClipFriction(mu * impulse.z(), impulse.head<2>());
  return impulse;
}

// Four doubles side by side.
using Lanes = double __attribute__((vector_size(32)));

// The law behind ProjectOntoFrictionCone for one contact, T = double, or for four, T = Lanes. Both
// give the same bits.
template <typename T>
struct ConeLaw {
  T R_t, R_n;  // [1/kg]
  T mu;
  // 1 / R_t, 1 / R_n, μ R_t / R_n, 1 / (1 + μ μ̂)
  T of_t, of_n, mu_hat, c;

  void Complete() {
    of_t = 1.0 / R_t;
    of_n = 1.0 / R_n;
    mu_hat = mu * R_t / R_n;
    c = 1.0 / (1.0 + mu * mu_hat);
  }
};

inline double SquareRoot(double x) {
  return std::sqrt(x);
}
inline Lanes SquareRoot(Lanes x) {
  return _mm256_sqrt_pd(x);
}

// The region of the cone that an unconstrained impulse (x, y, n) falls into, and its projection.
template <typename T>
struct ConePoint {
  using Mask = decltype(T() < T());

  ConePoint(const ConeLaw<T>& law, T x, T y, T n) {
    const T zero{}, y_r = SquareRoot(x * x + y * y);
    // n ≥ 0 excludes open contacts without friction and slip, which meet the first condition
    sticks = (y_r <= law.mu * n) & (n >= zero);
    slides = !sticks && n > -law.mu_hat * y_r;
    gamma_n = sticks ? n : slides ? law.c * (n + law.mu_hat * y_r) : zero;
    over_length = slides ? 1.0 / y_r : zero;
    shrink = sticks ? zero + 1.0 : law.mu * gamma_n * over_length;
  }

  // dᵀ G d with G = −∂γ/∂v_c and d = (d_x, d_y, d_n); x and y are the point's coordinates
  T Curvature(const ConeLaw<T>& law, T x, T y, T d_x, T d_y, T d_n) const {
    const T zero{}, squared = d_x * d_x + d_y * d_y;
    const T along = (x * d_x + y * d_y) * over_length, pressed = law.mu * along + d_n;
    const T sticking = squared * law.of_t + d_n * d_n * law.of_n;
    const T sliding =
        shrink * law.of_t * (squared - along * along) + law.c * law.of_n * (pressed * pressed);
    return sticks ? sticking : slides ? sliding : zero;
  }

  Mask sticks, slides;
  T gamma_n;
  T shrink;       // γ_t = shrink · (x, y)
  T over_length;  // 1 / ‖(x, y)‖ when sliding, else 0
};

// G of a point, symmetric.
template <typename T>
struct ConeSlope {
  ConeSlope() = default;
  ConeSlope(const ConeLaw<T>& law, const ConePoint<T>& p, T x, T y) {
    const T zero{}, t_x = x * p.over_length, t_y = y * p.over_length;
    // slope across the direction of sliding, and the additional slope along it
    const T across = p.shrink * law.of_t, more = law.mu * law.mu_hat * law.c * law.of_t - across;
    const T coupling = law.mu * law.c * law.of_n;
    xx = p.sticks ? law.of_t : across + more * t_x * t_x;
    yy = p.sticks ? law.of_t : across + more * t_y * t_y;
    xy = p.slides ? more * t_x * t_y : zero;
    xn = p.slides ? coupling * t_x : zero;
    yn = p.slides ? coupling * t_y : zero;
    nn = p.sticks ? law.of_n : p.slides ? law.c * law.of_n : zero;
  }

  T xx{}, xy{}, yy{}, xn{}, yn{}, nn{};
};

}  // namespace pliant::solvers
