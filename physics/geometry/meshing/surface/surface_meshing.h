#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/geometry/mesh.h"

namespace pliant::physics {

struct SurfaceMeshing {
  double edge_length = 0;          // of tetrahedra [m]; their mean edge is a tenth shorter
  bool refine = false;             // shorter edges where the body is thin, down to a quarter
  double sharp_angle = 0.6981317;  // the surface's edges are kept where it turns by more [rad]
  double max_tetrahedra = 2e6;
  // Edges are made shorter than edge_length only as long as there are no more tetrahedra than this.
  double max_refined = 2e6;
  // Receives the share done, 0 to 1, on the calling thread; returns false to stop. May be empty.
  std::function<bool(double share)> progress;
};

struct MeshedSurface {
  TetrahedralMesh mesh;
  std::vector<std::string> warnings;  // how the surface was closed, and what its mesh lacks
  double min_dihedral = 0;            // [rad]
};

// Fills any surface with tetrahedra: a lattice is cut at the boundary of what the surface encloses
// by winding number, moved onto its sharp edges, and improved. Bitwise the same for any number of
// threads.
//
// Boundary vertices lie on the surface or, where it is curved, off it such that the volume is kept.
//
// errors  INVALID_ARGUMENT: bad lengths, what SurfaceRegion::Make refuses, a body too thin for any
//         tetrahedron, or too many of them, with the edge length that would do; CANCELLED
absl::StatusOr<MeshedSurface> MeshSurface(TriangleMesh surface, const SurfaceMeshing& options);

}  // namespace pliant::physics
