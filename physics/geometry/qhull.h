#pragma once

#include <array>
#include <optional>
#include <vector>

#include <Eigen/Core>

namespace pliant::physics {

// Triangles of the convex hull, counter-clockwise from outside, from the library Qhull: it perturbs
// the points, by far less than kHullTolerance of their extent, until their hull is unambiguous. The
// perturbation is the same for the same points. nullopt when the library fails.
std::optional<std::vector<std::array<int, 3>>> CalcHullWithQhull(
    const std::vector<Eigen::Vector3d>& points);

}  // namespace pliant::physics
