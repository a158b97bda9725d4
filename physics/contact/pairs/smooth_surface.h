#pragma once

#include <optional>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/triangle_bvh.h"

namespace pliant::physics {

// Gap of a point above the smooth surface through the triangles of a mesh [m], and the outward unit
// normal there.
struct SmoothGap {
  double gap;
  Eigen::Vector3d normal;
};

// The smooth surface (larionov2023 §III-B, after Larionov, Fan and Pai 2021) is the zero level of
//
//   φ(x) = Σ wₖ nₖ·(x − xₖ) / |Σ wₖ nₖ|
//
// over the planes of the triangles k around the closest point of the mesh to x. Their weights fall
// smoothly to zero at a distance `radius` from that point. Normals and gaps are therefore
// continuous when a point slides from one triangle to the next. The surface coincides with the mesh
// at its vertices and on its flat parts. Triangles whose normal differs by more than 40° from
// `facing`, the normal at the closest point, are left out; nothing is returned if one of them is at
// that point, as on the sharp edge of a box.
//
// `positions` are those of the vertices of `bvh`; `around` is a buffer.
std::optional<SmoothGap> CalcSmoothGap(const TriangleBvh& bvh, VertexPositions positions,
                                       const Eigen::Vector3d& x, const Eigen::Vector3d& closest,
                                       const Eigen::Vector3d& facing, double radius,
                                       std::vector<int>* around);

// Radius of the weights, in units of the edges around a point.
inline constexpr double kSmoothRadius = 0.5;
// Greatest height of the smooth surface above its triangles, in units of their longest edge.
inline constexpr double kSmoothBulge = 0.15;

}  // namespace pliant::physics
