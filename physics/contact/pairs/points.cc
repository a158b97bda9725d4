#include <algorithm>
#include <cmath>
#include <utility>

#include "physics/contact/pairs/contact_key.h"
#include "physics/contact/pairs/narrow_phase.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

std::uint64_t KeyOfPoint(int point) {
  return MixKey({static_cast<std::uint64_t>(TouchKind::kPoint), static_cast<std::uint64_t>(point)});
}

// Contact of a point at `distance` from a surface whose outward normal there is n.
Touch MakeTouch(const PointSet& points, int index, const Vector3d& n, double distance,
                bool points_are_a) {
  const PointSet::Point& point = points[index];
  Touch touch;
  touch.gap = distance - point.radius;
  touch.p_W = point.p_W - (distance - 0.5 * touch.gap) * n;
  touch.nhat_AB_W = points_are_a ? Vector3d(-n) : n;
  touch.area = point.area;
  touch.feature = KeyOfPoint(index);
  (points_are_a ? touch.a : touch.b) = point.nodes;
  (points_are_a ? touch.feature_a : touch.feature_b) = {ContactFeature::Kind::kPoint, index};
  return touch;
}

// Outward normal of a closed surface at a nearest point. For edges and vertices, the angle-weighted
// pseudonormal (Bærentzen & Aanæs 2005), which tells inside from outside.
Vector3d CalcOutwardNormal(const TriangleSurface& surface, int triangle, TriangleFeature feature) {
  const int code = static_cast<int>(feature);
  if (code == 0) return surface.face_normal(triangle);
  Vector3d sum = Vector3d::Zero();
  if (code >= 4) {
    const TriangleBvh& bvh = surface.bvh();
    for (const int beside : bvh.edges()[bvh.edge_index(triangle, code - 4)].triangles)
      if (beside >= 0) sum += surface.face_normal(beside);
  } else {
    for (const auto& [other, corner] : surface.around(surface.triangle(triangle)[code - 1])) {
      const auto& t = surface.triangle(other);
      const Vector3d p = surface.position(t[corner]);
      const Vector3d u = surface.position(t[(corner + 1) % 3]) - p,
                     v = surface.position(t[(corner + 2) % 3]) - p;
      const double lengths = std::sqrt(u.squaredNorm() * v.squaredNorm());
      if (!(lengths > 0)) continue;
      sum += CalcAcos(std::clamp(u.dot(v) / lengths, -1.0, 1.0)) * surface.face_normal(other);
    }
  }
  const double norm = std::sqrt(sum.squaredNorm());
  return norm > 0 ? Vector3d(sum / norm) : surface.face_normal(triangle);
}

}  // namespace

void CollidePointsShape(const PointSet& points, const PlacedShape& placed, bool shape_is_a,
                        bool is_immovable, double margin, std::vector<Touch>* touches) {
  AxisAlignedBox bounds = placed.bounds;
  bounds.Grow(margin);
  const RigidTransform X_SW = placed.X_WS.Inverse();
  points.VisitOverlaps(bounds, [&](int i) {
    const PointSet::Point& point = points[i];
    if (is_immovable && point.is_prescribed) return;
    const SignedDistance field = placed.shape->CalcDistance(X_SW * point.p_W);
    if (!(field.distance - point.radius < margin)) return;
    touches->push_back(
        MakeTouch(points, i, placed.X_WS.R * field.gradient, field.distance, !shape_is_a));
  });
}

void CollidePointsSurface(const PointSet& points, const TriangleSurface& surface, bool surface_is_a,
                          double margin, std::vector<Touch>* touches) {
  const double deepest = 0.5 * surface.thickness();
  AxisAlignedBox bounds = surface.bounds();
  bounds.Grow(margin);
  points.VisitOverlaps(bounds, [&](int i) {
    const PointSet::Point& point = points[i];
    const double reach = std::max(margin + point.radius, std::min(deepest, surface.longest_edge()));
    const TriangleBvh::Nearest nearest =
        surface.bvh().FindNearest(surface.positions(), point.p_W, reach);
    if (nearest.triangle < 0) return;
    const Vector3d outward = CalcOutwardNormal(surface, nearest.triangle, nearest.at.feature);
    const Vector3d offset = point.p_W - nearest.at.point;
    const bool is_outside = outward.dot(offset) >= 0;
    const double distance = (is_outside ? 1 : -1) * std::sqrt(nearest.at.squared_distance);
    if (!(distance - point.radius < margin)) return;
    // beside an edge or a vertex, separate along the offset unless it vanishes
    const bool is_offset_known =
        static_cast<int>(nearest.at.feature) != 0 && std::abs(distance) > 1e-9 * reach;
    const Vector3d n = is_offset_known ? Vector3d(offset / distance) : outward;
    Touch touch = MakeTouch(points, i, n, distance, !surface_is_a);
    NodeWeights& side = surface_is_a ? touch.a : touch.b;
    for (int k = 0; k < 3; ++k) {
      if (nearest.at.weights[k] > 0)
        side.Add(surface.node(surface.triangle(nearest.triangle)[k]), nearest.at.weights[k]);
    }
    (surface_is_a ? touch.feature_a : touch.feature_b).kind = ContactFeature::Kind::kSurface;
    touches->push_back(std::move(touch));
  });
}

}  // namespace pliant::physics
