#include "physics/contact/pairs/pair_table.h"

#include <array>

namespace pliant::physics {
namespace {

using CollideFunction = void (*)(const CollisionGeometry& a, const CollisionGeometry& b,
                                 const PairSettings& settings, NarrowScratch* scratch,
                                 std::vector<Touch>* touches);

bool AreNear(const AxisAlignedBox& a, const AxisAlignedBox& b, double margin) {
  AxisAlignedBox grown = a;
  grown.Grow(margin);
  return grown.Overlaps(b);
}

void MarkShapes(std::size_t first, int shape_a, int shape_b, std::vector<Touch>* touches) {
  for (std::size_t i = first; i < touches->size(); ++i) {
    if (shape_a >= 0) (*touches)[i].feature_a = {ContactFeature::Kind::kShape, shape_a};
    if (shape_b >= 0) (*touches)[i].feature_b = {ContactFeature::Kind::kShape, shape_b};
  }
}

void ShapesOnShapes(const CollisionGeometry& a, const CollisionGeometry& b,
                    const PairSettings& settings, NarrowScratch* scratch,
                    std::vector<Touch>* touches) {
  AxisAlignedBox all_of_b;
  for (const PlacedShape& shape : b.shapes) all_of_b.Include(shape.bounds);
  for (int s = 0; s < static_cast<int>(a.shapes.size()); ++s) {
    if (!AreNear(a.shapes[s].bounds, all_of_b, settings.margin)) continue;
    for (int t = 0; t < static_cast<int>(b.shapes.size()); ++t) {
      if (!AreNear(a.shapes[s].bounds, b.shapes[t].bounds, settings.margin)) continue;
      const std::size_t first = touches->size();
      CollideShapes(a.shapes[s], b.shapes[t], settings.margin, scratch, touches);
      MarkShapes(first, s, t, touches);
    }
  }
}

template <bool kShapesAreA>
void SurfaceOnShapes(const CollisionGeometry& surface, const CollisionGeometry& shapes,
                     const PairSettings& settings, NarrowScratch* scratch,
                     std::vector<Touch>* touches) {
  for (int s = 0; s < static_cast<int>(shapes.shapes.size()); ++s) {
    const PlacedShape& shape = shapes.shapes[s];
    if (!AreNear(surface.surface->bounds(), shape.bounds, settings.margin)) continue;
    const std::size_t first = touches->size();
    if (settings.by_polygons) {
      CollideSurfaceShapePolygons(*surface.surface, shape, kShapesAreA, shapes.is_immovable,
                                  settings.margin, settings.polygons, scratch, touches);
    } else {
      CollideSurfaceShape(*surface.surface, shape, settings.is_smooth, kShapesAreA,
                          shapes.is_immovable, settings.margin, scratch, touches);
    }
    MarkShapes(first, kShapesAreA ? s : -1, kShapesAreA ? -1 : s, touches);
  }
}

void SurfaceOnSurface(const CollisionGeometry& a, const CollisionGeometry& b,
                      const PairSettings& settings, NarrowScratch* scratch,
                      std::vector<Touch>* touches) {
  if (settings.by_polygons) {
    CollideSurfacePolygons(*a.surface, *b.surface, settings.margin, settings.polygons, scratch,
                           touches);
  } else {
    CollideSurfaces(*a.surface, *b.surface, settings.is_smooth, settings.margin, scratch, touches);
  }
}

template <bool kShapesAreA>
void PointsOnShapes(const CollisionGeometry& points, const CollisionGeometry& shapes,
                    const PairSettings& settings, NarrowScratch*, std::vector<Touch>* touches) {
  for (int s = 0; s < static_cast<int>(shapes.shapes.size()); ++s) {
    const std::size_t first = touches->size();
    CollidePointsShape(*points.points, shapes.shapes[s], kShapesAreA, shapes.is_immovable,
                       settings.margin, touches);
    MarkShapes(first, kShapesAreA ? s : -1, kShapesAreA ? -1 : s, touches);
  }
}

template <bool kSurfaceIsA>
void PointsOnSurface(const CollisionGeometry& points, const CollisionGeometry& surface,
                     const PairSettings& settings, NarrowScratch*, std::vector<Touch>* touches) {
  CollidePointsSurface(*points.points, *surface.surface, kSurfaceIsA, settings.margin, touches);
}

void PointsOnPoints(const CollisionGeometry& a, const CollisionGeometry& b,
                    const PairSettings& settings, NarrowScratch* scratch,
                    std::vector<Touch>* touches) {
  CollidePoints(*a.points, *b.points, settings.margin, scratch, touches);
}

// Calls kFunction with the two sides swapped.
template <CollideFunction kFunction>
void Swapped(const CollisionGeometry& a, const CollisionGeometry& b, const PairSettings& settings,
             NarrowScratch* scratch, std::vector<Touch>* touches) {
  kFunction(b, a, settings, scratch, touches);
}

// Collision functions by the kind of A, then of B: shapes, surface, points.
constexpr std::array<std::array<CollideFunction, kNumGeometryKinds>, kNumGeometryKinds> kTable{{
    {ShapesOnShapes, Swapped<SurfaceOnShapes<true>>, Swapped<PointsOnShapes<true>>},
    {SurfaceOnShapes<false>, SurfaceOnSurface, Swapped<PointsOnSurface<true>>},
    {PointsOnShapes<false>, PointsOnSurface<false>, PointsOnPoints},
}};

}  // namespace

void CollideGeometries(const CollisionGeometry& a, const CollisionGeometry& b,
                       const PairSettings& settings, NarrowScratch* scratch,
                       std::vector<Touch>* touches) {
  kTable[static_cast<int>(a.kind)][static_cast<int>(b.kind)](a, b, settings, scratch, touches);
}

void CollideWithSelf(const CollisionGeometry& geometry, const PairSettings& settings,
                     NarrowScratch* scratch, std::vector<Touch>* touches) {
  if (geometry.kind == GeometryKind::kSurface)
    CollideSurfaceWithSelf(*geometry.surface, settings.is_smooth, settings.margin, scratch,
                           touches);
}

}  // namespace pliant::physics
