#pragma once

#include <random>

#include "physics/fem/fem_block.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {

// A box of 3 × 2 × 2 cells of edge `cell` [m] with the material's example parameters. Its vertices
// are moved at random (the same each time), so that nothing cancels by symmetry.
inline FemParameters MakeDistortedBox(const Material* material, double cell) {
  FemParameters p;
  p.mesh = *MeshBox({3 * cell, 2 * cell, 2 * cell}, cell);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-0.15 * cell, 0.15 * cell);
  for (Eigen::Vector3d& x : p.mesh.vertices) {
    for (int r = 0; r < 3; ++r) x[r] += uniform(random);
  }
  FemMaterial of{material, {}, 1000};
  for (const MaterialParameter& parameter : material->parameters())
    of.parameters.push_back(parameter.example);
  p.materials = {of};
  return p;
}

}  // namespace pliant::physics
