#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/geometry/mesh.h"
#include "physics/geometry/meshing/surface/surface_region.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {

// Positive tetrahedra that cover a region, and flags of the vertices inside it.
struct BackgroundLattice {
  TetrahedralMesh mesh;
  std::vector<char> inside;  // per vertex
};

// A point where edges must not be longer than `edge` [m].
struct SizeSample {
  Eigen::Vector3d point;
  double edge;
};

// Makes the body-centred cubic lattice, whose tetrahedra are congruent: two opposite edges of
// length `spacing` [m], four of √3/2 of it. Where samples ask for shorter edges, it is refined by
// bisecting the longest edge of a tetrahedron with all tetrahedra around it (Rivara 1997), so that
// it stays conforming and every tetrahedron is one of a few shapes.
//
// errors  INVALID_ARGUMENT: too many cells, or more than 2 `max_tetrahedra`; CANCELLED
absl::StatusOr<BackgroundLattice> MakeBackgroundLattice(const SurfaceRegion& region, double spacing,
                                                        const std::vector<SizeSample>& samples,
                                                        double max_tetrahedra,
                                                        const IsCancelled& is_cancelled);

}  // namespace pliant::physics
