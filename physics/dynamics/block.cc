#include "physics/dynamics/block.h"

#include <cmath>

namespace pliant::physics {

// Exact for a linear momentum balance m: ½ (m(v) + m(v0)) · (v − v0).
double BlockStep::CalcPotential(std::span<const double> v) {
  const std::span<const double> v0 = start_velocities();
  std::vector<double> residual(v.size()), start(v.size());
  CalcMomentumResidual(v, residual);
  CalcMomentumResidual(v0, start);
  double potential = 0;
  for (std::size_t i = 0; i < v.size(); ++i)
    potential += 0.5 * (residual[i] + start[i]) * (v[i] - v0[i]);
  return potential;
}

double NodeSet::CalcTurningRate(const BlockState& state) const {
  const Eigen::Vector3d omega = CalcAngularVelocity(state, DynamicsBlock::kWholeBlock);
  return std::sqrt(omega.squaredNorm());
}

bool DynamicsBlock::IsAtRest(const BlockState& state, double speed) const {
  for (const double v : state.v)
    if (!(std::abs(v) <= speed)) return false;
  return !is_prescribed();
}

}  // namespace pliant::physics
