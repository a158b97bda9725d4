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
  if (touch.gap < 0 && !point.sees_depth) touch.gap = std::min(distance, 0.0);
  touch.p_W = point.p_W - (distance - 0.5 * touch.gap) * n;
  touch.nhat_AB_W = points_are_a ? Vector3d(-n) : n;
  touch.area = point.area;
  touch.feature = KeyOfPoint(index);
  (points_are_a ? touch.a : touch.b) = point.nodes;
  (points_are_a ? touch.feature_a : touch.feature_b) = {ContactFeature::Kind::kPoint, index};
  return touch;
}

// Outward normal of a closed surface at a nearest point. For edges and vertices, the angle-weighted
// pseudonormal (Bærentzen & Aanæs 2005), which distinguishes inside from outside.
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

// Interval of a ball along an axis, grown by `margin`.
struct Interval {
  double lower, upper;
};
Interval FindInterval(const PointSet::Point& point, int axis, double margin) {
  return {point.p_W[axis] - point.radius - margin, point.p_W[axis] + point.radius + margin};
}

// Lists the points whose balls are nearer to `box` than the margin, by the lower ends of their
// intervals along `axis`.
void SortAlong(const PointSet& points, AxisAlignedBox box, int axis, double margin,
               std::vector<int>* order) {
  order->clear();
  box.Grow(margin);
  points.VisitOverlaps(box, [&](int i) { order->push_back(i); });
  const auto key = [&](int i) { return std::pair(FindInterval(points[i], axis, 0).lower, i); };
  std::sort(order->begin(), order->end(), [&](int i, int j) { return key(i) < key(j); });
}

// Appends the contact of ball i of A and ball j of B if they are nearer than the margin.
void CollideBalls(const PointSet& a, int i, const PointSet& b, int j, double margin,
                  std::vector<Touch>* touches) {
  const PointSet::Point &of_a = a[i], &of_b = b[j];
  const double reach = of_a.radius + of_b.radius;
  if (reach == 0 || (of_a.is_prescribed && of_b.is_prescribed)) return;
  const Vector3d offset = of_b.p_W - of_a.p_W;
  const double distance = std::sqrt(offset.squaredNorm());
  if (!(distance - reach < margin)) return;
  Touch& touch = touches->emplace_back();
  touch.gap = distance - reach;
  touch.nhat_AB_W = distance > 1e-9 * reach ? Vector3d(offset / distance) : Vector3d::Zero();
  touch.p_W = of_a.p_W + (of_a.radius + 0.5 * touch.gap) * touch.nhat_AB_W;
  // a point without radius represents no area: the contact has that of the ball
  touch.area = of_a.area > 0 && of_b.area > 0 ? std::min(of_a.area, of_b.area)
                                              : std::max(of_a.area, of_b.area);
  touch.feature = MixKey({static_cast<std::uint64_t>(TouchKind::kTwoPoints),
                          static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)});
  touch.a = of_a.nodes;
  touch.b = of_b.nodes;
  touch.feature_a = {ContactFeature::Kind::kPoint, i};
  touch.feature_b = {ContactFeature::Kind::kPoint, j};
}

}  // namespace

void CollidePoints(const PointSet& a, const PointSet& b, double margin, NarrowScratch* scratch,
                   std::vector<Touch>* touches) {
  // sweep along the longest side of the overlap, where the fewest intervals intersect
  const AxisAlignedBox &of_a = a.bounds(), &of_b = b.bounds();
  int axis = 0;
  (of_a.upper.cwiseMin(of_b.upper) - of_a.lower.cwiseMax(of_b.lower)).maxCoeff(&axis);
  std::vector<int>&order_a = scratch->vertices, &order_b = scratch->candidates;
  SortAlong(a, of_b, axis, margin, &order_a);
  SortAlong(b, of_a, axis, margin, &order_b);
  double widest = 0;
  for (const int j : order_b) widest = std::max(widest, 2 * b[j].radius);

  // a ball of B that ends before one of A begins starts at most its width earlier
  std::size_t first = 0;
  for (const int i : order_a) {
    const Interval reach = FindInterval(a[i], axis, margin);
    while (first < order_b.size() &&
           FindInterval(b[order_b[first]], axis, 0).lower + widest < reach.lower) {
      ++first;
    }
    for (std::size_t k = first; k < order_b.size(); ++k) {
      if (FindInterval(b[order_b[k]], axis, 0).lower > reach.upper) break;
      CollideBalls(a, i, b, order_b[k], margin, touches);
    }
  }
}

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
