#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"
#include "physics/geometry/meshing/surface/surface_region.h"

namespace pliant::physics {

// Finds the nearest of many segments.
class SegmentGrid {
 public:
  // `cell`: about the reach of queries [m]
  explicit SegmentGrid(double cell) : cell_(cell) {}
  void Add(const Eigen::Vector3d& a, const Eigen::Vector3d& b);

  struct Nearest {
    double distance;  // [m], infinite when farther than about a cell
    int segment;      // in the order in which they were added; −1 when farther
    double share;     // from a to b
  };
  Nearest FindNearest(const Eigen::Vector3d& p) const;

 private:
  std::uint64_t Key(const Eigen::Vector3d& p, int dx, int dy, int dz) const;

  double cell_;
  std::vector<std::array<Eigen::Vector3d, 2>> segments_;
  std::unordered_map<std::uint64_t, std::vector<int>> buckets_;  // segments near a cell
};

// A chain of sharp edges between two corners, or a loop.
class SharpCurve {
 public:
  // `cell`: see SegmentGrid
  SharpCurve(std::vector<Eigen::Vector3d> points, double cell);

  const std::vector<Eigen::Vector3d>& points() const { return points_; }
  double length() const { return arc_.back(); }  // [m]
  bool is_loop() const { return is_loop_; }
  // Point at this length along the curve [m], clamped to its ends.
  Eigen::Vector3d PointAt(double arc) const;

  struct Nearest {
    double distance, arc;  // [m]; distance infinite when farther than about a cell
  };
  Nearest FindNearest(const Eigen::Vector3d& p) const;

 private:
  std::vector<Eigen::Vector3d> points_;
  std::vector<double> arc_;  // length up to each point
  bool is_loop_;
  SegmentGrid grid_;
};

struct SharpFeatures {
  std::vector<SharpCurve> curves;
  std::vector<std::array<int, 2>> ends;  // corners of each curve; −1 of a loop
  std::vector<Eigen::Vector3d> corners;
  std::vector<std::vector<Eigen::Vector3d>> short_chains;  // too short for edges along them
};

// Finds the edges of a region's boundary where it turns by more than `sharp_angle` [rad]. Chains of
// them end where they branch or turn by as much. Chains too short for `edge_length` [m] are no
// curves.
SharpFeatures FindSharpFeatures(const SurfaceRegion& region, double sharp_angle,
                                double edge_length);

// Features on which the vertices of a mesh must stay.
struct FeatureMap {
  static constexpr int kFree = -1, kCorner = -2;
  std::vector<int> curve;                    // kFree, kCorner, or a curve's number
  std::vector<int> corner;                   // a corner's number, or −1
  std::vector<std::array<int, 2>> segments;  // mesh edges along curves, each ascending, sorted
};

// Balls in which no vertex is moved onto a feature, or all of space.
class ReleasedPlaces {
 public:
  bool empty() const { return balls_.empty() && !is_everywhere_; }
  // True if p is in one of the balls.
  bool Hold(const Eigen::Vector3d& p) const;
  // Adds balls of this radius [m] around points, or doubles those that contain them.
  void Widen(const std::vector<Eigen::Vector3d>& points, double radius);
  void ReleaseAll() { is_everywhere_ = true; }

 private:
  struct Ball {
    Eigen::Vector3d center;
    double radius;
  };
  std::vector<Ball> balls_;
  bool is_everywhere_ = false;
};

// Chooses the boundary vertices that are to lie on features and moves them there: for each corner
// the nearest, for each curve a path of mesh edges, or parts of one if other curves block it. May
// invert tetrahedra around them.
FeatureMap FitFeatures(const SharpFeatures& features, const ReleasedPlaces& released,
                       double edge_length, TetrahedralMesh* mesh);

}  // namespace pliant::physics
