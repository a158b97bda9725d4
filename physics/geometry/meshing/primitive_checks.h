#pragma once

#include <initializer_list>
#include <utility>

#include "absl/status/status.h"

#include "physics/geometry/mesh.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {

// INVALID_ARGUMENT with the name and value of the first length that is not a normal positive number
// of metres.
absl::Status CheckLengths(std::initializer_list<std::pair<const char*, double>> lengths);

// Number of edges along a length, at least 1; a double, since it may exceed any integer.
double CountEdges(double length, double edge_length);

// INVALID_ARGUMENT when there would be more than kMaxPrimitiveTetrahedra.
absl::Status CheckCount(double tetrahedra, double edge_length);

// CANCELLED if `is_cancelled` returns true.
absl::Status CheckNotCancelled(const IsCancelled& is_cancelled);

// Makes every volume positive by swapping corners.
void Orient(TetrahedralMesh* mesh);

}  // namespace pliant::physics
