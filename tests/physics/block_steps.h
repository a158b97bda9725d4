#pragma once

#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "physics/dynamics/block.h"
#include "physics/stepping/integrators/theta_method.h"

namespace pliant::physics {

// Settings of a θ-method step for tests that pose a block directly; gravity in [m/s²].
struct ThetaStep {
  double h = 0;
  double theta = 1, theta_vq = 1;
  Eigen::Vector3d gravity = Eigen::Vector3d::Zero();
};

inline absl::Status PoseBlock(BlockStep& step, const ThetaStep& settings, std::span<const double> q,
                              std::span<const double> v, BlockInputs inputs = {}) {
  inputs.gravity = settings.gravity;
  return step.Pose(ThetaMethod(settings.h, settings.theta, settings.theta_vq), {q, v}, inputs);
}

inline double CalcKineticEnergy(const DynamicsBlock& block, std::span<const double> q,
                                std::span<const double> v) {
  return block.CalcEnergies({q, v}, Eigen::Vector3d::Zero(), 0).kinetic;
}

inline double CalcElasticEnergy(const DynamicsBlock& block, std::span<const double> q) {
  const std::vector<double> at_rest(block.num_velocities());
  return block.CalcEnergies({q, at_rest}, Eigen::Vector3d::Zero(), 0).elastic;
}

}  // namespace pliant::physics
