#pragma once

#include "physics/geometry/mesh.h"
#include "physics/geometry/shape.h"

namespace pliant::server {

// Triangles of a shape for display only, in its own frame, outward. Curved shapes are accurate to
// about 1 % of their size; a half-space is a square of 4 m about its origin.
physics::TriangleMesh Tessellate(const physics::Geometry& geometry);

}  // namespace pliant::server
