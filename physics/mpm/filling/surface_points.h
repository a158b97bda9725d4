#pragma once

#include <vector>

#include <Eigen/Core>

#include "physics/mpm/filling/solid.h"

namespace pliant::physics {

// Number of particles, or of gaps between surface points, along a length: as near to the spacing as
// can be, at least 1.
int CountAlong(double length, double spacing);

// Points on the surface of a solid, about one for each spacing² of it, bitwise the same on every
// machine. On a box: a lattice on each face with its edges and corners; on round shapes: rings
// about z; on meshes and ellipsoids: spread evenly, with the corners and sharp edges of meshes.
std::vector<Eigen::Vector3d> SpreadOverSurface(const Solid& solid, double spacing);

}  // namespace pliant::physics
