#pragma once

#include <span>

#include "physics/contact/geometries/placed_shape.h"
#include "physics/contact/geometries/point_set.h"
#include "physics/contact/geometries/triangle_surface.h"

namespace pliant::physics {

// The collision geometry of a body at its present position: shapes fixed on a frame, a surface of
// triangles over nodes, or points, in one file each. Collision functions for pairs of these are in
// physics/contact/pairs, dispatched by kind.
enum class GeometryKind { kShapes, kSurface, kPoints };
inline constexpr int kNumGeometryKinds = 3;

struct CollisionGeometry {
  GeometryKind kind = GeometryKind::kShapes;
  std::span<const PlacedShape> shapes;       // kShapes; empty: the body does not collide
  const TriangleSurface* surface = nullptr;  // kSurface
  const PointSet* points = nullptr;          // kPoints
  bool is_immovable = false;                 // contact cannot move any part of it
};

}  // namespace pliant::physics
