#include "solvers/convex/smooth_friction.h"

#include <algorithm>
#include <cmath>

namespace pliant::solvers {

using Eigen::Matrix2d;
using Eigen::Vector2d;

SmoothContact EvaluateSmoothFriction(ContactLaw law, const Eigen::Vector3d& y,
                                     const Eigen::Vector3d& R, double mu, double slip,
                                     double lagged) {
  const Vector2d v_t = -R.x() * y.head<2>();
  const double length = std::sqrt(v_t.squaredNorm() + slip * slip);
  const double soft_norm = length - slip;
  const Vector2d t = v_t / length;
  const Matrix2d curvature = (Matrix2d::Identity() - t * t.transpose()) / length;

  SmoothContact contact;
  Eigen::Vector3d& gamma = contact.projection.gamma;
  Eigen::Matrix3d& G = contact.projection.G;
  const bool is_similar = law == ContactLaw::kSimilar;
  const double n = std::max(y.z() + (is_similar ? mu * soft_norm / R.z() : 0), 0.0);
  const double pressing = is_similar ? n : lagged;
  gamma << -mu * pressing * t, n;
  contact.cost = 0.5 * R.z() * n * n + (is_similar ? 0 : mu * lagged * soft_norm);
  G.setZero();
  G.topLeftCorner<2, 2>() = mu * pressing * curvature;
  if (n > 0) {
    G(2, 2) = 1 / R.z();
    if (is_similar) {
      const Vector2d along = -mu / R.z() * t;
      G.topLeftCorner<2, 2>() += mu * mu / R.z() * (t * t.transpose());
      G.topRightCorner<2, 1>() = along;
      G.bottomLeftCorner<1, 2>() = along.transpose();
    }
  }
  contact.projection.mode = n > 0 || (!is_similar && lagged > 0)
                                ? (v_t.norm() < slip ? ConeMode::kStick : ConeMode::kSlide)
                                : ConeMode::kOpen;
  return contact;
}

}  // namespace pliant::solvers
