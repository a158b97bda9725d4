#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <Eigen/Core>

#include "physics/dynamics/abilities/node_weights.h"
#include "physics/geometry/shape.h"

namespace pliant::physics {

// Collision points, each a ball of its own radius: the collision geometry of a particle body. A
// point moves with weighted nodes of its block: with a single one, or with those of a grid around
// it.
class PointSet {
 public:
  // A point at its present position.
  struct Point {
    Eigen::Vector3d p_W;
    double radius = 0;      // [m]; 0: a point
    double area = 0;        // of the surface that it represents [m²]
    NodeWeights nodes;
    bool sees_depth = true;  // TouchingPoints::sees_depth
    // moves with a body that its block follows: it makes no contact with immovable parts
    bool is_prescribed = false;
  };

  // Starts over: Add all points, then Finish.
  void Clear();
  Point& Add() { return points_.emplace_back(); }
  void Finish();
  // Moves all points: point i to position_of(i).
  template <typename PositionOf>
  void MoveTo(const PositionOf& position_of) {
    for (int i = 0; i < size(); ++i) points_[i].p_W = position_of(i);
    Finish();
  }

  int size() const { return static_cast<int>(points_.size()); }
  const Point& operator[](int i) const { return points_[i]; }
  const AxisAlignedBox& bounds() const { return bounds_; }  // of the balls

  // Calls visit(i) for the points whose balls meet `box`, ascending.
  template <typename Visit>
  void VisitOverlaps(const AxisAlignedBox& box, Visit&& visit) const {
    for (std::size_t chunk = 0; chunk < chunk_bounds_.size(); ++chunk) {
      if (!chunk_bounds_[chunk].Overlaps(box)) continue;
      const int end = std::min(size(), kChunkSize * static_cast<int>(chunk + 1));
      for (int i = kChunkSize * static_cast<int>(chunk); i < end; ++i) {
        const Point& point = points_[i];
        const Eigen::Vector3d nearest = point.p_W.cwiseMax(box.lower).cwiseMin(box.upper);
        if ((point.p_W - nearest).squaredNorm() <= point.radius * point.radius) visit(i);
      }
    }
  }

 private:
  // points per chunk with a common box; consecutive points are mostly near in space
  static constexpr int kChunkSize = 32;

  std::vector<Point> points_;
  std::vector<AxisAlignedBox> chunk_bounds_;
  AxisAlignedBox bounds_;
};

}  // namespace pliant::physics
