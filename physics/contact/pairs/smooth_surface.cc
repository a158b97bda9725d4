#include "physics/contact/pairs/smooth_surface.h"

#include <algorithm>
#include <cmath>

#include "physics/geometry/closest_points.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kSharpCosine = 0.766;  // of 40°
// Squared distance at which a point is on a triangle, in units of the radius of the weights.
constexpr double kOnTriangle = 1e-18;

}  // namespace

std::optional<SmoothGap> CalcSmoothGap(const TriangleBvh& bvh, VertexPositions positions,
                                       const Vector3d& x, const Vector3d& closest,
                                       const Vector3d& facing, double radius,
                                       std::vector<int>* around) {
  AxisAlignedBox box{closest, closest};
  box.Grow(radius);
  // in ascending order, because the tree depends on when it was built
  around->clear();
  bvh.VisitOverlaps(box, [&](int i) { around->push_back(i); });
  std::sort(around->begin(), around->end());

  const double radius2 = radius * radius;
  Vector3d normal = Vector3d::Zero();
  double height = 0;
  for (const int i : *around) {
    const auto& t = bvh.triangle(i);
    const Vector3d a = VertexAt(positions, t[0]), b = VertexAt(positions, t[1]),
                   c = VertexAt(positions, t[2]);
    const Vector3d cross = (b - a).cross(c - a);
    const double norm = std::sqrt(cross.squaredNorm());
    if (!(norm > 0)) continue;
    const Vector3d n = cross / norm;
    const double distance2 = FindClosestPointOnTriangle(closest, a, b, c).squared_distance;
    if (n.dot(facing) < kSharpCosine) {
      if (distance2 <= kOnTriangle * radius2) return std::nullopt;
      continue;
    }
    const double left = 1 - distance2 / radius2;
    if (!(left > 0)) continue;
    // a large triangle counts by what lies near the point
    const double weight = std::min(0.5 * norm, radius2) * left * left * left;
    normal += weight * n;
    height += weight * n.dot(x - a);
  }
  const double norm = std::sqrt(normal.squaredNorm());
  if (!(norm > 0)) return std::nullopt;
  return SmoothGap{height / norm, normal / norm};
}

}  // namespace pliant::physics
