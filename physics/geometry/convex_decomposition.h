#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "physics/geometry/mesh.h"

namespace pliant::physics {

struct ConvexDecompositionOptions {
  // Stop once the hulls hold at most this fraction of the solid's volume more than the solid.
  double tolerance = 0.05;
  int max_pieces = 32;
};

struct ConvexDecomposition {
  std::vector<TriangleMesh> pieces;  // closed convex surfaces, outward
  double volume = 0;                 // of the solid [m³]
  double excess = 0;                 // (Σ hull volumes − volume) / volume
};

// Convex pieces that cover a solid and little else: it is cut by planes, always where the piece
// with the largest excess gains most, and each piece becomes its convex hull; pieces whose common
// hull costs nothing are joined again. The same bits on every machine. Cuts are exact, so all of
// the solid lies in the hulls, up to kHullTolerance.
//
// mesh    closed, triangles outward
// errors  INVALID_ARGUMENT: it encloses no volume, or is flat
absl::StatusOr<ConvexDecomposition> DecomposeConvex(const TriangleMesh& mesh,
                                                    const ConvexDecompositionOptions& options = {});

}  // namespace pliant::physics
