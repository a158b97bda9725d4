#pragma once

#include "physics/geometry/mesh.h"
#include "physics/geometry/shape.h"

namespace pliant::server {

// Triangles that show a shape, in its own frame, outward. Curved shapes to about 1 % of their size;
// a half-space as a square of 4 m about its origin. For the eye alone: nothing is computed from it.
physics::TriangleMesh Tessellate(const physics::Geometry& geometry);

}  // namespace pliant::server
