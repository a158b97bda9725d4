#include "physics/contact/geometries/point_set.h"

namespace pliant::physics {

void PointSet::Clear() {
  points_.clear();
  stretches_.clear();
}

void PointSet::Finish() {
  bounds_ = AxisAlignedBox{};
  stretches_.assign((points_.size() + kStretch - 1) / kStretch, AxisAlignedBox{});
  for (std::size_t i = 0; i < points_.size(); ++i) {
    AxisAlignedBox box{points_[i].p_W, points_[i].p_W};
    box.Grow(points_[i].radius);
    stretches_[i / kStretch].Include(box);
  }
  for (const AxisAlignedBox& box : stretches_) bounds_.Include(box);
}

}  // namespace pliant::physics
