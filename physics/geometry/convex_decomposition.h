#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "physics/geometry/mesh.h"

namespace pliant::physics {

struct ConvexDecompositionOptions {
  // Stop once the hulls' excess volume is at most this fraction of the solid's volume.
  double tolerance = 0.05;
  int max_pieces = 32;
};

struct ConvexDecomposition {
  std::vector<TriangleMesh> pieces;  // closed convex surfaces, outward
  double volume = 0;                 // of the solid [m³]
  double excess = 0;                 // (Σ hull volumes − volume) / volume
};

// Approximate convex decomposition of a solid. It is cut by planes, always at the cut that most
// improves the piece with the largest excess; each piece becomes its convex hull, and pieces whose
// common hull adds no volume are joined again. The result is bitwise the same on every machine.
// Cuts are exact, so the hulls contain the solid up to kHullTolerance.
//
// mesh    closed, triangles outward
// errors  INVALID_ARGUMENT: it encloses no volume, or is flat
absl::StatusOr<ConvexDecomposition> DecomposeConvex(const TriangleMesh& mesh,
                                                    const ConvexDecompositionOptions& options = {});

}  // namespace pliant::physics
