#pragma once

#include <Eigen/Core>

#include "physics/geometry/convex_polyhedron.h"
#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// A placed convex body: a core and a rounding radius, given by its support function.
struct ConvexBody {
  enum class Kind { kPoint, kSegment, kPolyhedron, kCylinder, kEllipsoid };

  Kind kind = Kind::kPoint;
  // segment: (0, 0, half length) along z; cylinder: (radius, radius, half length); ellipsoid:
  // radii; a polyhedron that is a box: half lengths
  Eigen::Vector3d size = Eigen::Vector3d::Zero();
  const ConvexPolyhedron* polyhedron = nullptr;
  double rounding = 0;  // [m]
  RigidTransform X_WS;
  double extent = 0;  // largest distance of the core from So [m]

  // A point of the core furthest along d_W, which need not be of unit length.
  Eigen::Vector3d FindSupport(const Eigen::Vector3d& d_W) const;
};

// Signed distance of two cores, with its direction and points.
struct ConvexDistance {
  Eigen::Vector3d nhat_AB_W = Eigen::Vector3d::Zero();  // along which the separation is greatest
  double separation = 0;     // of the cores along nhat_AB_W [m], negative when they overlap
  Eigen::Vector3d p_A, p_B;  // points of the cores that are nearest, or deepest in the other
};

// Signed distance of two cores: the greatest separation over all directions, which is the distance
// when apart and minus the least translation that separates them when they overlap. GJK (Gilbert,
// Johnson & Keerthi) when apart; EPA, an expanding polytope inside the Minkowski difference (van
// den Bergen 2001), when touching or overlapping. Cores further apart than `at_most` may return any
// separation above it.
ConvexDistance CalcConvexDistance(const ConvexBody& a, const ConvexBody& b, double at_most);

// Separation of the cores along a unit direction: min n·b − max n·a.
double CalcSeparation(const ConvexBody& a, const ConvexBody& b, const Eigen::Vector3d& n);

}  // namespace pliant::physics
