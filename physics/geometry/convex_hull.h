#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include <Eigen/Core>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// Points closer to a hull than this fraction of the diagonal of their bounds do not matter for
// contact.
inline constexpr double kHullTolerance = 1e-7;

// The convex hull of points [m]: a closed surface of triangles whose vertices are some of the
// points, in their order, without those inside faces and edges, and without some that are closer to
// it than `tolerance` times the diagonal of the points' bounds. Computed by the library Qhull
// (Barber et al. 1996); with a tolerance of 0 the volume is accurate to rounding, but more inputs
// fail.
//
// errors  INVALID_ARGUMENT: a point is not finite, or all lie within kHullTolerance of a plane
//         INTERNAL: the library fails
absl::StatusOr<TriangleMesh> CalcConvexHull(const std::vector<Eigen::Vector3d>& points,
                                            double tolerance = kHullTolerance);

}  // namespace pliant::physics
