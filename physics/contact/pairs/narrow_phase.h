#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "physics/contact/geometries/placed_shape.h"
#include "physics/contact/geometries/point_set.h"
#include "physics/contact/geometries/surface_part.h"
#include "physics/contact/geometries/triangle_surface.h"
#include "physics/contact/pairs/manifold.h"
#include "physics/dynamics/contact_point.h"

namespace pliant::physics {

// One contact point of two bodies, before friction and keys of the pair are filled in.
struct Touch {
  Eigen::Vector3d p_W;  // midway between the surfaces [m]
  Eigen::Vector3d nhat_AB_W;
  double gap;             // [m]
  double area = 0;        // [m²]
  std::uint64_t feature;  // unique within the pair of bodies, or of their shapes
  NodeWeights a, b;       // nodes of each side, numbered in its block; empty for a shape
  ContactFeature feature_a{}, feature_b{};
  bool is_sliver = false;  // see ManifoldPoint
};

// Buffers of the narrow phases, one per concurrent pair; they change no result.
struct NarrowScratch {
  ManifoldBuilder builder;
  std::vector<ManifoldPoint> points;
  std::vector<double> distances;
  std::vector<SignedDistance> fields;
  std::vector<std::vector<Touch>> of_chunk;  // by chunk of triangles
  std::vector<int> candidates;
  std::vector<std::uint8_t> is_covered;
  std::vector<int> vertices;
  std::vector<int> around;
  std::vector<std::pair<int, int>> facing;
  std::vector<NearTriangles::Candidate> near_vertex;
  NearTriangles near_triangles;
  FacingTriangles facing_triangles;
  NearEdges edges_a, edges_b;
  ConvexPolyhedron triangle;
  SupportFeature reference, incident;
  std::vector<int> edges;
  // points beyond the limit of a pair of shapes, not counted by `builder`
  int points_dropped = 0;

  // Returns and resets the number of manifold points dropped.
  int TakePointsDropped() { return std::exchange(points_dropped, 0) + builder.TakePointsDropped(); }
};

// Contact polygons: each is limited to points within `depth` of its deepest point, and a triangle
// is subdivided into divisions² smaller ones.
struct PolygonOptions {
  double depth = 0;  // [m]
  int divisions = 1;
};

// Narrow-phase settings of a pair.
struct PairSettings {
  double margin = 0;         // of gaps [m]
  bool by_polygons = false;  // one contact per polygon of a surface, not per vertex
  bool is_smooth = false;    // vertices of surfaces meet the smooth surface of the other
  PolygonOptions polygons;
};

// Appends the contacts of two shapes with gap below the margin.
void CollideShapes(const PlacedShape& a, const PlacedShape& b, double margin,
                   NarrowScratch* scratch, std::vector<Touch>* touches);

// Appends to scratch->points the contacts of a surface mesh with a convex shape (not a half-space)
// or another mesh.
void CollideWithMesh(const PlacedShape& mesh, const PlacedShape& other, double margin,
                     NarrowScratch* scratch);

// Appends the contacts of a shape with a deforming surface: each vertex nearer than the margin, the
// corners of the FlatOverlap of each triangle, and where there are none, the deepest point of a
// triangle that the shape enters between vertices. `shape_is_a` gives the direction of normals.
// Parts prescribed on both sides make no contact. `is_smooth`: vertices meet the smooth surface of
// a mesh (see CalcSmoothGap).
void CollideSurfaceShape(const TriangleSurface& surface, const PlacedShape& placed, bool is_smooth,
                         bool shape_is_a, bool is_immovable, double margin, NarrowScratch* scratch,
                         std::vector<Touch>* touches);

// As above, with one contact per polygon in which a triangle overlaps the shape, at its centroid.
void CollideSurfaceShapePolygons(const TriangleSurface& surface, const PlacedShape& placed,
                                 bool shape_is_a, bool is_immovable, double margin,
                                 const PolygonOptions& options, NarrowScratch* scratch,
                                 std::vector<Touch>* touches);

// Appends the contacts of two deforming surfaces, one per polygon in which two triangles that face
// each other overlap, seen along the mean of their normals. The triangles of B are subdivided.
void CollideSurfacePolygons(const TriangleSurface& a, const TriangleSurface& b, double margin,
                            const PolygonOptions& options, NarrowScratch* scratch,
                            std::vector<Touch>* touches);

// Appends the contacts of two deforming surfaces: vertices against triangles both ways, and
// crossing edges where no vertex touches. `is_smooth`: vertices meet the smooth surface through the
// triangles (see CalcSmoothGap).
void CollideSurfaces(const TriangleSurface& a, const TriangleSurface& b, bool is_smooth,
                     double margin, NarrowScratch* scratch, std::vector<Touch>* touches);

// Appends the self-contacts of a deforming surface: vertices (side A) against triangles (side B)
// that are not adjacent in the material, judged by their distance at rest. None when the rest shape
// is unknown.
void CollideSurfaceWithSelf(const TriangleSurface& surface, bool is_smooth, double margin,
                            NarrowScratch* scratch, std::vector<Touch>* touches);

// Appends the contacts of points with a shape: one for each point whose ball is nearer than the
// margin.
void CollidePointsShape(const PointSet& points, const PlacedShape& placed, bool shape_is_a,
                        bool is_immovable, double margin, std::vector<Touch>* touches);

// Appends the contacts of points with a deforming surface, each with the nearest triangle. A point
// deeper than half the thickness of the surface's body makes no contact. The surface's tree must be
// up to date.
void CollidePointsSurface(const PointSet& points, const TriangleSurface& surface, bool surface_is_a,
                          double margin, std::vector<Touch>* touches);

// Appends the contacts of two sets of points: one for each two balls nearer than the margin. Two
// points without radius make none, nor do two prescribed points. The normal of balls with the same
// centre is zero.
void CollidePoints(const PointSet& a, const PointSet& b, double margin, NarrowScratch* scratch,
                   std::vector<Touch>* touches);

}  // namespace pliant::physics
