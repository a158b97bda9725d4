#include "solvers/convex/friction_cone.h"

#include <cmath>

namespace pliant::solvers {
namespace {

// What both functions need of y: where it lies relative to the cone.
struct Region {
  ConeMode mode;
  double y_r;     // length of the tangential part
  double mu_hat;  // μ R_t / R_n
  double c;       // 1 / (1 + μ μ̂)
  double gamma_n;
};

Region Locate(const Eigen::Vector3d& y, const Eigen::Vector3d& R, double mu) {
  Region region;
  region.y_r = std::sqrt(y.x() * y.x() + y.y() * y.y());
  region.mu_hat = mu * R.x() / R.z();
  region.c = 1 / (1 + mu * region.mu_hat);
  if (region.y_r <= mu * y.z()) {
    region.mode = ConeMode::kStick;
    region.gamma_n = y.z();
  } else if (y.z() > -region.mu_hat * region.y_r) {
    region.mode = ConeMode::kSlide;
    region.gamma_n = region.c * (y.z() + region.mu_hat * region.y_r);
  } else {
    region.mode = ConeMode::kOpen;
    region.gamma_n = 0;
  }
  return region;
}

Eigen::Vector3d Impulse(const Region& region, const Eigen::Vector3d& y, double mu) {
  switch (region.mode) {
    case ConeMode::kStick:
      return y;
    case ConeMode::kSlide: {
      const double scale = mu * region.gamma_n / region.y_r;
      return {scale * y.x(), scale * y.y(), region.gamma_n};
    }
    default:
      return Eigen::Vector3d::Zero();
  }
}

}  // namespace

ConeProjection ProjectOntoFrictionCone(const Eigen::Vector3d& y, const Eigen::Vector3d& R,
                                       double mu) {
  const Region region = Locate(y, R, mu);
  ConeProjection projection;
  projection.mode = region.mode;
  projection.gamma = Impulse(region, y, mu);
  projection.G.setZero();
  if (region.mode == ConeMode::kStick) {
    projection.G.diagonal() = R.cwiseInverse();
  } else if (region.mode == ConeMode::kSlide) {
    const Eigen::Vector2d t = y.head<2>() / region.y_r;
    const Eigen::Matrix2d along = t * t.transpose();
    const Eigen::Matrix2d across = Eigen::Matrix2d::Identity() - along;
    projection.G.topLeftCorner<2, 2>() =
        (mu / R.x()) * (region.gamma_n / region.y_r * across + region.mu_hat * region.c * along);
    projection.G.topRightCorner<2, 1>() = mu * region.c / R.z() * t;
    projection.G.bottomLeftCorner<1, 2>() = projection.G.topRightCorner<2, 1>().transpose();
    projection.G(2, 2) = region.c / R.z();
  }
  return projection;
}

Eigen::Vector3d ProjectImpulse(const Eigen::Vector3d& y, const Eigen::Vector3d& R, double mu) {
  return Impulse(Locate(y, R, mu), y, mu);
}

}  // namespace pliant::solvers
