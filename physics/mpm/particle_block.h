#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "physics/dynamics/block.h"
#include "physics/mpm/materials/particle_material.h"

namespace pliant::physics {

// Background grid of all particles of a world.
struct GridOptions {
  double cell_size = 0;  // Δx [m]
  // Whether the corrections of docs/methods.md apply; without them, the method is that of zong2024.
  bool is_corrected = true;
  // If a particle leaves the bounds, the step fails or the particle stops for good.
  enum class Leaving { kFault, kFreeze };
  Leaving leaving = Leaving::kFault;
  // Bounds of the particles' positions, W [m].
  Eigen::Vector3d lower = Eigen::Vector3d::Constant(-std::numeric_limits<double>::infinity());
  Eigen::Vector3d upper = Eigen::Vector3d::Constant(std::numeric_limits<double>::infinity());
  int max_nodes = 1'000'000;  // active nodes of a step
};

// A body of particles at the start.
struct ParticleBody {
  std::string name;  // for faults
  const ParticleMaterial* material = nullptr;
  std::vector<double> parameters;          // in the order of the material's parameters()
  double density = 0;                      // [kg/m³], > 0
  std::vector<Eigen::Vector3d> positions;  // of its particles, W [m]; at least one
  std::vector<double> volumes;             // at rest, of each [m³]
  std::vector<Eigen::Vector3d> surface;    // massless points on its surface, which collide, W [m]
  Eigen::Vector3d linear_velocity = Eigen::Vector3d::Zero();   // of the centre of mass [m/s]
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();  // about it [rad/s]
};

// One block for all particle bodies of a world (zong2024); body k is part k. Its nodes are the
// particles and surface points of body 0, then those of body 1, and so on; its elements are the
// particles.
//
// Positions: 3 per node [m]. Velocities: 3 per node [m/s]. Internals: see particle_internals.h. The
// unknowns of a step are the velocities of the active grid nodes; a group is a grid node.
std::shared_ptr<const DynamicsBlock> MakeParticleBlock(GridOptions grid,
                                                       std::vector<ParticleBody> bodies);

}  // namespace pliant::physics
