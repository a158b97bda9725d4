#pragma once

#include <algorithm>
#include <memory>
#include <variant>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"
#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

class TriangleBvh;

// Rigid shapes in their own frame S [m]: centred at So; capsule and cylinder along z, length
// between cap centres.
struct Sphere {
  double radius;
};
struct Box {
  Eigen::Vector3d half_size;
};
struct Capsule {
  double radius;
  double length;
};
struct Cylinder {
  double radius;
  double length;
};
struct Ellipsoid {
  Eigen::Vector3d radii;
};
// Solid below z = 0.
struct HalfSpace {};
// Closed convex polyhedron; triangles of the hull.
struct ConvexMesh {
  std::shared_ptr<const TriangleMesh> hull;
};
// Closed surface of any shape; `bvh` is over `mesh`.
struct SurfaceMesh {
  std::shared_ptr<const TriangleMesh> mesh;
  std::shared_ptr<const TriangleBvh> bvh;
};

using Geometry =
    std::variant<Sphere, Box, Capsule, Cylinder, Ellipsoid, HalfSpace, ConvexMesh, SurfaceMesh>;

// A shape fixed on a frame B.
struct Shape {
  RigidTransform X_BS;
  Geometry geometry;
  double friction = -1;     // negative: not given
  double stiffness = -1;    // [N/m]; negative: not given
  double restitution = -1;  // negative: not given
};

// Axis-aligned box; empty while lower > upper.
struct AxisAlignedBox {
  Eigen::Vector3d lower = Eigen::Vector3d::Constant(1e300);
  Eigen::Vector3d upper = Eigen::Vector3d::Constant(-1e300);

  void Include(const Eigen::Vector3d& p) {
    for (int i = 0; i < 3; ++i) {
      lower[i] = std::min(lower[i], p[i]);
      upper[i] = std::max(upper[i], p[i]);
    }
  }
  void Include(const AxisAlignedBox& other) {
    for (int i = 0; i < 3; ++i) {
      lower[i] = std::min(lower[i], other.lower[i]);
      upper[i] = std::max(upper[i], other.upper[i]);
    }
  }
  bool Overlaps(const AxisAlignedBox& other) const {
    // one branch instead of six
    bool overlaps = true;
    for (int i = 0; i < 3; ++i)
      overlaps &= (lower[i] <= other.upper[i]) & (other.lower[i] <= upper[i]);
    return overlaps;
  }
  void Grow(double distance) {
    lower.array() -= distance;
    upper.array() += distance;
  }
};

// Bounds of a shape placed at X_WS [m]; open sides of a half-space are at ±1e6.
AxisAlignedBox CalcBounds(const Geometry& geometry, const RigidTransform& X_WS);

// Volume [m³], centre of mass and rotational inertia about it, in S, at density 1. Zero volume for
// a half-space.
struct MassProperties {
  double volume = 0;
  Eigen::Vector3d center = Eigen::Vector3d::Zero();
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();
};
MassProperties CalcMassProperties(const Geometry& geometry);

// Thickness of the thinnest part of a solid [m], a bound on penetration before the far side is
// near: the least width of simple shapes, twice the volume over the area of meshes; infinite for a
// half-space.
double CalcThickness(const Geometry& geometry);
double CalcThickness(const TriangleMesh& mesh);

// Signed distance of p_S to the surface [m], negative inside, its gradient (unit, outward) and the
// nearest point.
struct SignedDistance {
  double distance;
  Eigen::Vector3d gradient;
  Eigen::Vector3d nearest;
};
SignedDistance CalcSignedDistance(const Geometry& geometry, const Eigen::Vector3d& p_S);

}  // namespace pliant::physics
