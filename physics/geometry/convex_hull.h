#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// Points closer to the hull than this fraction of the diagonal of their bounds need not be vertices
// of it.
inline constexpr double kHullTolerance = 1e-7;

// The convex hull of points [m]: a closed surface of triangles whose vertices are some of the
// points, in their order, without those inside faces and edges. Computed by the library Qhull
// (Barber et al. 1996).
//
// errors  INVALID_ARGUMENT: a point is not finite, or all lie within the tolerance of a plane
absl::StatusOr<TriangleMesh> CalcConvexHull(const std::vector<Eigen::Vector3d>& points);

}  // namespace pliant::physics
