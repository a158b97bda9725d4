#include "physics/geometry/meshing/polygon_triangles.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include <Eigen/Geometry>

namespace pliant::physics {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

// Ears are sought in a time that grows with the cube of the corners; larger polygons become fans.
constexpr std::size_t kMaxCorners = 1000;

double Cross(const Vector2d& a, const Vector2d& b) {
  return a.x() * b.y() - a.y() * b.x();
}

// Doubled area of a triangle, positive if counter-clockwise.
double Turn(const Vector2d& a, const Vector2d& b, const Vector2d& c) {
  return Cross(b - a, c - a);
}

// Corners in their plane, in which the polygon runs counter-clockwise.
std::vector<Vector2d> Project(std::span<const Vector3d> corners) {
  Vector3d normal = Vector3d::Zero();  // Newell's
  for (std::size_t i = 0; i < corners.size(); ++i)
    normal += (corners[i] - corners[0]).cross(corners[(i + 1) % corners.size()] - corners[0]);
  int axis = 0;
  normal.cwiseAbs().maxCoeff(&axis);
  const int u = (axis + 1) % 3, v = (axis + 2) % 3;
  const double side = normal[axis] < 0 ? -1 : 1;
  std::vector<Vector2d> flat;
  for (const Vector3d& p : corners) flat.emplace_back(p[u], side * p[v]);
  return flat;
}

}  // namespace

bool CutPolygon(std::span<const Vector3d> corners, std::vector<std::array<int, 3>>* triangles) {
  triangles->clear();
  if (corners.size() == 3) {
    triangles->push_back({0, 1, 2});
    return true;
  }
  std::vector<int> left(corners.size());
  std::iota(left.begin(), left.end(), 0);
  if (corners.size() <= kMaxCorners) {
    const std::vector<Vector2d> flat = Project(corners);
    const auto turn_at = [&](std::size_t i) {
      const std::size_t m = left.size();
      return Turn(flat[left[(i + m - 1) % m]], flat[left[i]], flat[left[(i + 1) % m]]);
    };
    const auto is_ear = [&](std::size_t i) {
      if (!(turn_at(i) > 0)) return false;
      const std::size_t m = left.size();
      const Vector2d &a = flat[left[(i + m - 1) % m]], &b = flat[left[i]],
                     &c = flat[left[(i + 1) % m]];
      for (const int k : left) {
        const Vector2d& p = flat[k];
        // corners in the same place are ends of a cut
        if (p == a || p == b || p == c) continue;
        if (Turn(a, b, p) >= 0 && Turn(b, c, p) >= 0 && Turn(c, a, p) >= 0) return false;
      }
      return true;
    };
    const auto is_convex = [&] {
      for (std::size_t i = 0; i < left.size(); ++i)
        if (turn_at(i) < 0) return false;
      return true;
    };
    while (left.size() > 3 && !is_convex()) {
      std::size_t ear = 0;
      while (ear < left.size() && !is_ear(ear)) ++ear;
      if (ear == left.size()) break;
      const std::size_t m = left.size();
      triangles->push_back({left[(ear + m - 1) % m], left[ear], left[(ear + 1) % m]});
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(ear));
    }
  }
  if (corners.size() == 4 && left.size() == 4 &&
      (corners[3] - corners[1]).squaredNorm() < (corners[2] - corners[0]).squaredNorm()) {
    triangles->push_back({0, 1, 3});
    triangles->push_back({1, 2, 3});
    return true;
  }
  for (std::size_t i = 2; i < left.size(); ++i)
    triangles->push_back({left[0], left[i - 1], left[i]});
  return left.size() == corners.size();
}

}  // namespace pliant::physics
