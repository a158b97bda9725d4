#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/convex_distance.h"

namespace pliant::physics {

// One contact point of two rigid shapes.
struct ManifoldPoint {
  Eigen::Vector3d p_W;  // midway between the surfaces [m]
  Eigen::Vector3d nhat_AB_W;
  double gap;             // [m]
  std::uint64_t feature;  // touching features, unique within the pair of shapes
  // True if two boxes overlap by almost nothing along a second axis, or pass each other that
  // closely.
  bool is_sliver = false;
};

// The support feature of a core in a direction: a point, a segment, or a face counter-clockwise
// from outside.
struct SupportFeature {
  std::vector<Eigen::Vector3d> points;                 // [m], world
  std::vector<std::uint32_t> ids;                      // of the vertices, constant for a shape
  Eigen::Vector3d normal_W = Eigen::Vector3d::Zero();  // of a face

  void Clear() {
    points.clear();
    ids.clear();
  }
  void Add(const Eigen::Vector3d& p, std::uint32_t id) {
    points.push_back(p);
    ids.push_back(id);
  }
};

// Contact manifolds of convex shapes. Buffers change no result.
class ManifoldBuilder {
 public:
  // Contacts of two convex bodies with gap below the margin. If a face takes part, the other body's
  // support feature is clipped to it; otherwise there is one point, or two between nearly parallel
  // axes.
  void CollideConvex(const ConvexBody& a, const ConvexBody& b, double margin,
                     std::vector<ManifoldPoint>* points);

  // As above with A a half-space below the plane through `origin` with the unit normal n.
  void CollideWithPlane(const Eigen::Vector3d& origin, const Eigen::Vector3d& n,
                        const ConvexBody& b, double margin, std::vector<ManifoldPoint>* points);

  // The support feature of `body` along the unit direction d.
  static void FindSupportFeature(const ConvexBody& body, const Eigen::Vector3d& d,
                                 SupportFeature* feature);

  // Clips the incident feature to the prism over the reference face and appends the points nearer
  // to its plane than the margin, at most 8. `reference_is_a`: the face is A's. `rounding` is the
  // incident body's.
  void ClipToFace(const SupportFeature& reference, const SupportFeature& incident,
                  bool reference_is_a, double rounding, double margin,
                  std::vector<ManifoldPoint>* points);

  // Returns and resets the number of points dropped.
  int TakePointsDropped() { return std::exchange(points_dropped_, 0); }

 private:
  // Origin of an edge of a clipped polygon: the incident feature, or a side of the reference face.
  struct EdgeSource {
    bool is_reference;
    int index;
  };
  struct ClipVertex {
    Eigen::Vector3d p;
    EdgeSource in, out;  // the edges before and after it
  };

  // CollideConvex of two boxes by their fifteen separating axes, if the closest features are a face
  // or two crossing edges. Otherwise returns false and appends nothing.
  bool CollideBoxes(const ConvexBody& a, const ConvexBody& b, double margin,
                    std::vector<ManifoldPoint>* points);
  void ClipPolygon(const SupportFeature& reference, const SupportFeature& incident);

  SupportFeature reference_, incident_;
  std::vector<char> is_downward_;  // vertices of a polyhedron
  std::vector<ClipVertex> polygon_, clipped_;
  int points_dropped_ = 0;
};

// Keeps at most `most` points from `first` on: the deepest, then repeatedly one that is far from
// those kept and not much less deep. Returns the number dropped.
int ReduceManifold(std::size_t first, std::size_t most, std::vector<ManifoldPoint>* points);

}  // namespace pliant::physics
