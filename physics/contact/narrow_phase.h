#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "physics/contact/collision_shape.h"
#include "physics/contact/manifold.h"
#include "physics/contact/soft_surface.h"
#include "physics/contact/surface_part.h"
#include "physics/dynamics/contact_point.h"

namespace pliant::physics {

// One point where two bodies touch, before friction and keys of the pair are filled in.
struct Touch {
  Eigen::Vector3d p_W;
  Eigen::Vector3d nhat_AB_W;
  double gap;             // [m]
  double area = 0;        // [m²]
  std::uint64_t feature;  // unique within the pair
  // nodes on each side, numbered in their block; none for a rigid side
  struct Side {
    int num_nodes = 0;
    std::array<int, 4> nodes{};
    std::array<double, 4> weights{};
  };
  Side a, b;
};

// Buffers of the narrow phases, one for each pair at work at a time; they change no result.
struct NarrowScratch {
  ManifoldBuilder builder;
  std::vector<ManifoldPoint> points;
  std::vector<double> distances;
  std::vector<SignedDistance> fields;
  std::vector<std::vector<Touch>> of_stretch;  // of triangles
  std::vector<int> candidates;
  std::vector<std::uint8_t> is_covered;
  std::vector<int> vertices;
  std::vector<std::pair<int, int>> facing;
  std::vector<NearTriangles::Candidate> near_vertex;
  NearTriangles near_triangles;
  FacingTriangles facing_triangles;
  NearEdges edges_a, edges_b;
  ConvexPolyhedron triangle;
  SupportFeature reference, incident;
  std::vector<int> edges;
  // beyond the largest number of a pair of shapes, where `builder` does not count
  int points_dropped = 0;

  // How many points of manifolds have been dropped since the last call.
  int TakePointsDropped() {
    return std::exchange(points_dropped, 0) + builder.TakePointsDropped();
  }
};

// Appends the contacts of two rigid shapes with gap below the margin.
void CollideRigidRigid(const PlacedShape& a, const PlacedShape& b, double margin,
                       NarrowScratch* scratch, std::vector<Touch>* touches);

// Appends to scratch->points the contacts of a surface mesh with a convex shape (not a half-space)
// or another mesh.
void CollideWithMesh(const PlacedShape& mesh, const PlacedShape& other, double margin,
                     NarrowScratch* scratch);

// Appends the contacts of a rigid shape with a deforming surface: each of its vertices nearer than
// the margin, and the deepest point of each triangle that the shape enters between them.
// `rigid_is_a` gives the direction of normals. What is prescribed on both sides makes no contact.
void CollideSoftRigid(const SoftSurface& soft, const PlacedShape& rigid, bool rigid_is_a,
                      bool is_immovable, double margin, NarrowScratch* scratch,
                      std::vector<Touch>* touches);

// How surfaces are cut into polygons: each is what lies within `depth` of its deepest point, and a
// triangle counts as divisions² of them.
struct PolygonOptions {
  double depth;  // [m]
  int divisions;
};

// As above, with one contact for each polygon in which a triangle meets the shape, at its centroid.
void CollideSoftRigidPatches(const SoftSurface& soft, const PlacedShape& rigid, bool rigid_is_a,
                             bool is_immovable, double margin, const PolygonOptions& options,
                             NarrowScratch* scratch, std::vector<Touch>* touches);

// Appends the contacts of two deforming surfaces, one for each polygon in which two triangles that
// face each other overlap, seen along the mean of their normals. Those of B are divided.
void CollideSoftSoftPatches(const SoftSurface& a, const SoftSurface& b, double margin,
                            const PolygonOptions& options, NarrowScratch* scratch,
                            std::vector<Touch>* touches);

// Appends the contacts of two deforming surfaces: vertices against triangles both ways, and
// crossing edges where no vertex tells.
void CollideSoftSoft(const SoftSurface& a, const SoftSurface& b, double margin,
                     NarrowScratch* scratch, std::vector<Touch>* touches);

// Appends the contacts of a deforming surface with itself: vertices (side A) against triangles
// (side B) that the material does not join, judged by how far apart they are at rest. None when the
// rest shape is not known.
void CollideWithSelf(const SoftSurface& surface, double margin, NarrowScratch* scratch,
                     std::vector<Touch>* touches);

}  // namespace pliant::physics
