#pragma once

#include <array>
#include <optional>
#include <vector>

#include <Eigen/Core>

namespace pliant::physics {

// Triangles of the convex hull, counter-clockwise from outside, from the library Qhull: it joggles
// the points by far less than kHullTolerance of their extent until their hull is beyond doubt. The
// joggle is the same for the same points. Nothing when the library gives up.
std::optional<std::vector<std::array<int, 3>>> CalcHullWithQhull(
    const std::vector<Eigen::Vector3d>& points);

}  // namespace pliant::physics
