#include "physics/contact/geometries/point_set.h"

namespace pliant::physics {

void PointSet::Clear() {
  points_.clear();
  chunk_bounds_.clear();
}

void PointSet::Finish() {
  bounds_ = AxisAlignedBox{};
  chunk_bounds_.assign((points_.size() + kChunkSize - 1) / kChunkSize, AxisAlignedBox{});
  for (std::size_t i = 0; i < points_.size(); ++i) {
    AxisAlignedBox box{points_[i].p_W, points_[i].p_W};
    box.Grow(points_[i].radius);
    chunk_bounds_[i / kChunkSize].Include(box);
  }
  for (const AxisAlignedBox& box : chunk_bounds_) bounds_.Include(box);
}

}  // namespace pliant::physics
