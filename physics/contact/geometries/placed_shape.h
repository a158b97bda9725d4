#pragma once

#include <memory>
#include <vector>

#include "physics/geometry/convex_distance.h"
#include "physics/geometry/convex_polyhedron.h"
#include "physics/geometry/shape.h"
#include "physics/geometry/triangle_bvh.h"

namespace pliant::physics {

// A rigid shape with what collision needs of it, prepared once.
struct CollisionShape {
  explicit CollisionShape(const Shape& shape);

  const Shape* shape;
  ConvexPolyhedron polyhedron;             // box and convex mesh
  std::shared_ptr<const TriangleBvh> bvh;  // convex and other meshes
  const TriangleMesh* mesh = nullptr;      // theirs
  // of a mesh that need not be convex, by edges of the tree: those that stand out
  std::vector<char> is_sharp_edge;
  double thickness;  // see CalcThickness [m]

  template <typename Kind>
  bool Is() const {
    return std::holds_alternative<Kind>(shape->geometry);
  }
  bool is_convex() const { return !Is<SurfaceMesh>(); }

  // Whether edge `e` of a triangle of such a mesh stands out. Seams within flat sides and reentrant
  // edges do not.
  bool IsSharp(int triangle, int e) const;
  // As CalcSignedDistance of shape.h, with the tree where there is one.
  SignedDistance CalcDistance(const Eigen::Vector3d& p_S) const;
};

// What a rigid shape is like where its outward normal is n_S.
struct SurfaceKind {
  // of how sure it is that the normal is the shape's own: 0 not at all, 1 a surface of many faces,
  // 2 a face, 3 a plane
  int face = 0;
  double radius = 0;                                 // of curvature [m]; 0: a vertex, edge or face
  Eigen::Vector3d axis_S = Eigen::Vector3d::Zero();  // along which a round one is straight
};
SurfaceKind DescribeSurface(const Geometry& geometry, const Eigen::Vector3d& n_S);

// A shape where it is now.
struct PlacedShape {
  PlacedShape(const CollisionShape& shape, const RigidTransform& X_WS);

  void Move(const RigidTransform& X_WS);

  const CollisionShape* shape;
  RigidTransform X_WS;
  AxisAlignedBox bounds;
  ConvexBody body;  // meaningless for half-spaces and surface meshes
};

}  // namespace pliant::physics
