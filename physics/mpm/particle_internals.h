#pragma once

#include <algorithm>
#include <span>

#include "physics/mpm/materials/particle_material.h"

namespace pliant::physics {

// Layout of BlockState::internals of a particle block: kParticleInternals numbers per particle.
//   0 … 8   affine velocity field C, column by column [1/s]
//   9 … 17  elastic deformation gradient F, column by column
//   18      volume ratio J
//   19      accumulated plastic strain
//   20      1 if the particle has left the bounds of the grid and stopped for good, else 0
inline constexpr int kParticleInternals = 21;

inline ParticleState ReadParticle(std::span<const double> internals, int particle) {
  const double* from = &internals[static_cast<std::size_t>(particle) * kParticleInternals];
  ParticleState state;
  state.C = Eigen::Map<const Eigen::Matrix3d>(from);
  state.F = Eigen::Map<const Eigen::Matrix3d>(from + 9);
  state.J = from[18];
  state.plastic_strain = from[19];
  return state;
}

inline void WriteParticle(const ParticleState& state, int particle, std::span<double> internals) {
  double* to = &internals[static_cast<std::size_t>(particle) * kParticleInternals];
  std::copy_n(state.C.data(), 9, to);
  std::copy_n(state.F.data(), 9, to + 9);
  to[18] = state.J;
  to[19] = state.plastic_strain;
}

inline void WriteAffine(const Eigen::Matrix3d& C, int particle, std::span<double> internals) {
  std::copy_n(C.data(), 9, &internals[static_cast<std::size_t>(particle) * kParticleInternals]);
}

inline bool IsFrozen(std::span<const double> internals, int particle) {
  return internals[static_cast<std::size_t>(particle) * kParticleInternals + 20] != 0;
}
// Stops a particle for good, and its affine field.
inline void Freeze(int particle, std::span<double> internals) {
  WriteAffine(Eigen::Matrix3d::Zero(), particle, internals);
  internals[static_cast<std::size_t>(particle) * kParticleInternals + 20] = 1;
}

}  // namespace pliant::physics
