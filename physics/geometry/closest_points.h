#pragma once

#include <Eigen/Core>

namespace pliant::physics {

// The part of a triangle (a, b, c) that holds a point of it. Edge i runs from vertex i to vertex i
// + 1 (mod 3).
enum class TriangleFeature : unsigned char {
  kFace,
  kVertex0,
  kVertex1,
  kVertex2,
  kEdge0,
  kEdge1,
  kEdge2
};

// Point of a triangle nearest to some p.
struct TrianglePoint {
  Eigen::Vector3d point;
  Eigen::Vector3d weights;  // barycentric, not negative, sum to 1
  TriangleFeature feature;
  double squared_distance;  // to p [m²]
};

// Voronoi regions of the triangle, Ericson, Real-Time Collision Detection, §5.1.5. Degenerate
// triangles give a point of one of their edges.
TrianglePoint FindClosestPointOnTriangle(const Eigen::Vector3d& p, const Eigen::Vector3d& a,
                                         const Eigen::Vector3d& b, const Eigen::Vector3d& c);

// Nearest points a0 + s (a1 − a0) and b0 + t (b1 − b0) of two segments, s and t in [0, 1].
struct SegmentPoints {
  double s, t;
  Eigen::Vector3d a, b;
};
SegmentPoints FindClosestPointsOfSegments(const Eigen::Vector3d& a0, const Eigen::Vector3d& a1,
                                          const Eigen::Vector3d& b0, const Eigen::Vector3d& b1);

}  // namespace pliant::physics
