#pragma once

#include <vector>

#include <Eigen/Core>

#include "physics/mpm/filling/solid.h"

namespace pliant::physics {

// Number of particles, or of gaps between surface points, along a length [m]: length / spacing,
// rounded, at least 1.
int CountAlong(double length, double spacing);

// Points on the surface of a solid [m], about one per spacing², bitwise the same on every machine:
// a lattice on the faces of a box, rings about z on spheres, capsules, cylinders and tori, and a
// Poisson disk sample on ellipsoids and meshes, which includes corners and sharp edges of meshes.
std::vector<Eigen::Vector3d> SpreadOverSurface(const Solid& solid, double spacing);

}  // namespace pliant::physics
