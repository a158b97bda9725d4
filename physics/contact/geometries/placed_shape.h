#pragma once

#include <memory>
#include <span>
#include <vector>

#include "physics/geometry/convex_distance.h"
#include "physics/geometry/convex_polyhedron.h"
#include "physics/geometry/shape.h"
#include "physics/geometry/triangle_bvh.h"

namespace pliant::physics {

// A rigid shape with precomputed collision data. Copies share the polyhedron and the tree.
struct CollisionShape {
  explicit CollisionShape(const Shape& shape);

  const Shape* shape;
  std::shared_ptr<const ConvexPolyhedron> polyhedron;  // box and convex mesh; null for others
  std::shared_ptr<const TriangleBvh> bvh;              // convex and other meshes
  const TriangleMesh* mesh = nullptr;                  // of convex and other meshes
  // Flags of the sharp edges of a mesh that may be non-convex (see IsSharp), by edge of the tree
  // and by side of each triangle.
  std::vector<char> is_sharp_edge, is_sharp_side;
  // The mean of the longest edges of the triangles around each vertex of a mesh [m].
  std::vector<double> mean_edges;
  double longest_edge = 0;  // of a mesh [m]
  double thickness;         // see CalcThickness [m]

  template <typename Kind>
  bool Is() const {
    return std::holds_alternative<Kind>(shape->geometry);
  }
  bool is_convex() const { return !Is<SurfaceMesh>(); }

  // True if edge `e` of a triangle of a non-convex mesh is sharp. Edges within flat sides and
  // reentrant edges are not.
  bool IsSharp(int triangle, int e) const { return is_sharp_side[3 * triangle + e] != 0; }
  // CalcSignedDistance of shape.h, using the tree if there is one.
  SignedDistance CalcDistance(const Eigen::Vector3d& p_S) const;

 private:
  void MeasureEdges();
};

// Collision data of shapes, in their order. Those of the same mesh share it: many bodies may be
// copies of one part.
std::vector<CollisionShape> MakeCollisionShapes(std::span<const Shape* const> shapes);

// Local surface of a rigid shape where its outward normal is n_S.
struct SurfaceKind {
  // reliability of the normal as the shape's own: 0 none, 1 a surface of many faces, 2 a face, 3 a
  // plane
  int face = 0;
  double radius = 0;                                 // of curvature [m]; 0: a vertex, edge or face
  Eigen::Vector3d axis_S = Eigen::Vector3d::Zero();  // straight direction of a round surface
};
SurfaceKind DescribeSurface(const Geometry& geometry, const Eigen::Vector3d& n_S);

// A shape at its present pose.
struct PlacedShape {
  PlacedShape(const CollisionShape& shape, const RigidTransform& X_WS);

  void Move(const RigidTransform& X_WS);

  const CollisionShape* shape;
  RigidTransform X_WS;
  AxisAlignedBox bounds;
  ConvexBody body;  // meaningless for half-spaces and surface meshes
};

}  // namespace pliant::physics
