#pragma once

#include <vector>

#include "physics/dynamics/abilities/nodes.h"
#include "physics/mpm/particle_block.h"

namespace pliant::physics {

// Fraction of the mass in the consistent mass matrix; the rest is lumped. A consistent matrix alone
// may be singular; a lumped one adds m Δx²/2 to the moment of inertia of a body.
inline constexpr double kConsistentMass = 0.95;

// Data shared by a particle block and its steps.
struct ParticleModel {
  GridOptions grid;
  std::vector<ParticleBody> bodies;
  std::vector<IndexRange> nodes, particles;  // of each body
  int num_nodes = 0, num_particles = 0;
  double mass = 0;  // [kg]
  // of each particle
  std::vector<int> node, body;
  std::vector<double> particle_mass, particle_volume;  // [kg], [m³] at rest
  // of each node: its particle; −1 for a massless surface point
  std::vector<int> particle_of_node;

  // Fraction of the mass that is lumped. Only this part has inertia in the affine field.
  double lumped() const { return grid.is_corrected ? 1 - kConsistentMass : 1; }
  // Inertia of the affine field around a particle, per mass and axis: lumped() Δx²/4 [m²].
  double affine_inertia() const { return lumped() * 0.25 * grid.cell_size * grid.cell_size; }
  const ParticleMaterial& material_of(int particle) const {
    return *bodies[body[particle]].material;
  }
  const double* parameters_of(int particle) const {
    return bodies[body[particle]].parameters.data();
  }
};

}  // namespace pliant::physics
