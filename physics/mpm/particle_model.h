#pragma once

#include <vector>

#include "physics/dynamics/abilities/nodes.h"
#include "physics/mpm/particle_block.h"

namespace pliant::physics {

// Part of the mass that the consistent mass matrix carries; the rest is lumped. All of it would be
// singular, none of it adds m Δx²/2 to the moment of inertia of a body.
inline constexpr double kConsistentMass = 0.95;

// What a particle block and its steps share.
struct ParticleModel {
  GridOptions grid;
  std::vector<ParticleBody> bodies;
  std::vector<IndexRange> nodes, particles;  // of each body
  int num_nodes = 0, num_particles = 0;
  double mass = 0;  // [kg]
  // of each particle
  std::vector<int> node, body;
  std::vector<double> particle_mass, particle_volume;  // [kg], [m³] at rest
  // of each node: its particle; −1: a massless point of a surface
  std::vector<int> particle_of_node;

  // part of the mass that is lumped; the affine field carries inertia with this part alone
  double lumped() const { return grid.is_corrected ? 1 - kConsistentMass : 1; }
  // Inertia of the affine field around a particle, per mass and axis: β Δx²/4 [m²].
  double affine_inertia() const { return lumped() * 0.25 * grid.cell_size * grid.cell_size; }
  const ParticleMaterial& material_of(int particle) const {
    return *bodies[body[particle]].material;
  }
  const double* parameters_of(int particle) const {
    return bodies[body[particle]].parameters.data();
  }
};

}  // namespace pliant::physics
