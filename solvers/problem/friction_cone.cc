#include "solvers/problem/friction_cone.h"

namespace pliant::solvers {
namespace {

ConeLaw<double> MakeLaw(const Eigen::Vector3d& R, double mu) {
  ConeLaw<double> law{R.x(), R.z(), mu, 0, 0, 0, 0};
  law.Complete();
  return law;
}

}  // namespace

ConeProjection ProjectOntoFrictionCone(const Eigen::Vector3d& y, const Eigen::Vector3d& R,
                                       double mu) {
  const ConeLaw<double> law = MakeLaw(R, mu);
  const ConePoint<double> point(law, y.x(), y.y(), y.z());
  const ConeSlope<double> G(law, point, y.x(), y.y());
  ConeProjection projection;
  projection.mode = point.sticks   ? ConeMode::kStick
                    : point.slides ? ConeMode::kSlide
                                   : ConeMode::kOpen;
  projection.gamma = {point.shrink * y.x(), point.shrink * y.y(), point.gamma_n};
  projection.G << G.xx, G.xy, G.xn, G.xy, G.yy, G.yn, G.xn, G.yn, G.nn;
  return projection;
}

Eigen::Vector3d ProjectImpulse(const Eigen::Vector3d& y, const Eigen::Vector3d& R, double mu) {
  const ConePoint<double> point(MakeLaw(R, mu), y.x(), y.y(), y.z());
  return {point.shrink * y.x(), point.shrink * y.y(), point.gamma_n};
}

}  // namespace pliant::solvers
