#include "physics/dynamics/block.h"

#include <cmath>
#include <vector>

namespace pliant::physics {

double CalcPotential(std::span<const double> v, BlockStep* step) {
  if (NonlinearBalance* nonlinear = step->abilities().nonlinear) return nonlinear->CalcPotential(v);
  // exact for a linear momentum balance m: ½ (m(v) + m(v0)) · (v − v0)
  const std::span<const double> v0 = step->start_velocities();
  std::vector<double> residual(v.size()), start(v.size());
  step->CalcMomentumResidual(v, residual);
  step->CalcMomentumResidual(v0, start);
  double potential = 0;
  for (std::size_t i = 0; i < v.size(); ++i)
    potential += 0.5 * (residual[i] + start[i]) * (v[i] - v0[i]);
  return potential;
}

double NodeSet::CalcRotationRate(const BlockState& state) const {
  const Eigen::Vector3d omega = CalcAngularVelocity(state, DynamicsBlock::kWholeBlock);
  return std::sqrt(omega.squaredNorm());
}

}  // namespace pliant::physics
