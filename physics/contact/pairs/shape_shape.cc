#include <algorithm>
#include <cmath>

#include "physics/contact/pairs/contact_key.h"
#include "physics/contact/pairs/narrow_phase.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A sphere against any convex shape, by the distance of its centre.
void CollideWithSphere(const PlacedShape& shape, const PlacedShape& sphere, double margin,
                       std::vector<ManifoldPoint>* points) {
  const Vector3d center = sphere.X_WS.p;
  const SignedDistance field = shape.shape->CalcDistance(shape.X_WS.Inverse() * center);
  const double gap = field.distance - sphere.body.rounding;
  if (gap >= margin) return;
  const Vector3d n = shape.X_WS.R * field.gradient;
  points->push_back({center - (field.distance - 0.5 * gap) * n, n, gap,
                     MixKey({static_cast<std::uint64_t>(TouchKind::kWhole)})});
}

void CollideWithHalfSpace(const PlacedShape& half_space, const PlacedShape& other, double margin,
                          NarrowScratch* scratch) {
  const Vector3d n = half_space.X_WS.R.col(2);
  if (other.shape->is_convex()) {
    scratch->builder.CollideWithPlane(half_space.X_WS.p, n, other.body, margin, &scratch->points);
    return;
  }
  // a non-convex mesh touches with its lowest vertices
  const std::vector<Vector3d>& vertices = other.shape->mesh->vertices;
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    const Vector3d p = other.X_WS * vertices[v];
    const double gap = n.dot(p - half_space.X_WS.p);
    if (gap >= margin) continue;
    scratch->points.push_back({p - 0.5 * gap * n, n, gap,
                               MixKey({static_cast<std::uint64_t>(TouchKind::kVertexOfB), v})});
  }
  scratch->points_dropped += ReduceManifold(0, 16, &scratch->points);
}

// Converts points of (first, second) to touches of (a, b).
void Append(const std::vector<ManifoldPoint>& points, bool is_swapped,
            std::vector<Touch>* touches) {
  for (const ManifoldPoint& point : points) {
    Touch& touch = touches->emplace_back();
    touch.p_W = point.p_W;
    touch.nhat_AB_W = is_swapped ? Vector3d(-point.nhat_AB_W) : point.nhat_AB_W;
    touch.gap = point.gap;
    touch.feature = point.feature;
    touch.is_sliver = point.is_sliver;
  }
}

}  // namespace

void CollideShapes(const PlacedShape& a, const PlacedShape& b, double margin,
                   NarrowScratch* scratch, std::vector<Touch>* touches) {
  scratch->points.clear();

  // ranked so that each pairing is written once: half-space, mesh, other convex, sphere
  const auto rank = [](const PlacedShape& s) {
    return s.shape->Is<HalfSpace>()     ? 0
           : s.shape->Is<SurfaceMesh>() ? 1
           : s.shape->Is<Sphere>()      ? 3
                                        : 2;
  };
  const bool is_swapped = rank(a) > rank(b);
  const PlacedShape &first = is_swapped ? b : a, &second = is_swapped ? a : b;
  if (second.shape->Is<HalfSpace>()) return;
  if (second.shape->Is<Sphere>() && first.shape->is_convex()) {
    CollideWithSphere(first, second, margin, &scratch->points);
  } else if (first.shape->Is<HalfSpace>()) {
    CollideWithHalfSpace(first, second, margin, scratch);
  } else if (first.shape->is_convex()) {
    scratch->builder.CollideConvex(first.body, second.body, margin, &scratch->points);
  } else {
    CollideWithMesh(first, second, margin, scratch);
  }
  Append(scratch->points, is_swapped, touches);
}

}  // namespace pliant::physics
