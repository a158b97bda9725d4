#pragma once

#include <vector>

#include "physics/geometry/mesh.h"
#include "physics/geometry/meshing/surface/background_lattice.h"
#include "physics/geometry/meshing/surface/surface_region.h"

namespace pliant::physics {

// Positive tetrahedra that fill a region, without unused vertices.
struct StuffedMesh {
  TetrahedralMesh mesh;
  // Per vertex: on the boundary of the region. Every tetrahedron has a vertex that is not.
  std::vector<char> on_boundary;
  std::vector<char> in_hole;  // per vertex: on a hole of the surface
  int dropped_fragments = 0;  // small parts that no face joins to others
};

// Cuts a lattice at the boundary of a region (isosurface stuffing, Labelle & Shewchuk 2007):
// lattice vertices close to a cut move onto it, and the tetrahedra that the boundary crosses are
// cut. For an unrefined lattice, the paper proves that no dihedral angle is below 10.7°.
StuffedMesh StuffLattice(const SurfaceRegion& region, BackgroundLattice lattice);

}  // namespace pliant::physics
