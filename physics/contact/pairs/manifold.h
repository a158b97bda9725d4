#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/convex_distance.h"

namespace pliant::physics {

// One point where two rigid shapes touch.
struct ManifoldPoint {
  Eigen::Vector3d p_W;  // midway between the surfaces [m]
  Eigen::Vector3d nhat_AB_W;
  double gap;             // [m]
  std::uint64_t feature;  // what touches, unique within the pair of shapes
};

// The part of a core that supports it along a direction: a point, a segment, or a face
// counter-clockwise from outside.
struct SupportFeature {
  std::vector<Eigen::Vector3d> points;  // [m], world
  std::vector<std::uint32_t> ids;       // of the vertices, the same while the shape stays
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

// Buffers of the functions below; they change no result.
class ManifoldBuilder {
 public:
  // Contacts of two convex bodies with gap below the margin: where a face takes part, the other
  // body's support feature clipped to it; one point otherwise, two between nearly parallel axes.
  void CollideConvex(const ConvexBody& a, const ConvexBody& b, double margin,
                     std::vector<ManifoldPoint>* points);

  // As above with A a half-space below the plane through `origin` with the unit normal n.
  void CollideWithPlane(const Eigen::Vector3d& origin, const Eigen::Vector3d& n,
                        const ConvexBody& b, double margin, std::vector<ManifoldPoint>* points);

  // The support feature of `body` along the unit direction d.
  static void FindSupportFeature(const ConvexBody& body, const Eigen::Vector3d& d,
                                 SupportFeature* feature);

  // Clips the incident feature to the prism over the reference face and appends what is nearer to
  // its plane than the margin, at most 8 points. `reference_is_a` says whose face it is; `rounding`
  // is the incident body's.
  void ClipToFace(const SupportFeature& reference, const SupportFeature& incident,
                  bool reference_is_a, double rounding, double margin,
                  std::vector<ManifoldPoint>* points);

  // How many points have been dropped since the last call.
  int TakePointsDropped() { return std::exchange(points_dropped_, 0); }

 private:
  // Where an edge of a clipped polygon comes from: the incident feature, or a side of the reference
  // face.
  struct EdgeSource {
    bool is_reference;
    int index;
  };
  struct ClipVertex {
    Eigen::Vector3d p;
    EdgeSource in, out;  // the edges before and after it
  };

  // CollideConvex of two boxes by their fifteen separating axes, where a face or two crossing edges
  // are nearest; false when it is something else, with nothing appended.
  bool CollideBoxes(const ConvexBody& a, const ConvexBody& b, double margin,
                    std::vector<ManifoldPoint>* points);
  void ClipPolygon(const SupportFeature& reference, const SupportFeature& incident);

  SupportFeature reference_, incident_;
  std::vector<ClipVertex> polygon_, clipped_;
  int points_dropped_ = 0;
};

// Keeps at most `most` points from `first` on: the deepest, then always the one furthest from those
// kept. Returns how many it drops.
int ReduceManifold(std::size_t first, std::size_t most, std::vector<ManifoldPoint>* points);

}  // namespace pliant::physics
