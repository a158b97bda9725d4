#pragma once

#include <array>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace pliant::physics {

// Cuts a polygon of n corners into n − 2 triangles of their numbers, turned as the polygon is: if
// it is convex, a quadrilateral along its shorter diagonal and others as a fan from their first
// corner; else by cutting off ears. The corners should be about in a plane. A polygon that meets
// itself is cut into some triangles, which may overlap. Returns whether the polygon is convex.
bool CutPolygon(std::span<const Eigen::Vector3d> corners,
                std::vector<std::array<int, 3>>* triangles);

}  // namespace pliant::physics
