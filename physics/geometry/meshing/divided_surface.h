#pragma once

#include <array>
#include <vector>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

struct DividedSurface {
  TriangleMesh mesh;  // the given vertices, then the added ones
  // The ends of the edges that the added vertices halve, in their order; they come before them.
  std::vector<std::array<int, 2>> ends;
};

// Halves the edges that are longer than `longest` [m], and the triangles with them, until there are
// none, so that a surface with long triangles can follow a deformation. Triangles that met along an
// edge still do, also where each has its own vertices there. Longer edges remain where there would
// be more than `max_triangles`.
DividedSurface DivideLongEdges(TriangleMesh mesh, double longest, std::size_t max_triangles);

}  // namespace pliant::physics
