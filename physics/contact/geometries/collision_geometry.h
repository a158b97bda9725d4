#pragma once

#include <span>

#include "physics/contact/geometries/placed_shape.h"
#include "physics/contact/geometries/point_set.h"
#include "physics/contact/geometries/triangle_surface.h"

namespace pliant::physics {

// What of a body touches, where it is: shapes fixed on a frame, a surface of triangles over nodes,
// or points. One file each; what two of them do to each other is in physics/contact/pairs,
// dispatched by these kinds.
enum class GeometryKind { kShapes, kSurface, kPoints };
inline constexpr int kNumGeometryKinds = 3;

struct CollisionGeometry {
  GeometryKind kind = GeometryKind::kShapes;
  std::span<const PlacedShape> shapes;       // kShapes; none: nothing of the body touches
  const TriangleSurface* surface = nullptr;  // kSurface
  const PointSet* points = nullptr;          // kPoints
  bool is_immovable = false;                 // nothing that contact does moves any part of it
};

}  // namespace pliant::physics
