#include "physics/contact/broad_phase.h"

#include <algorithm>

namespace pliant::physics {

using Eigen::Vector3d;

const std::vector<std::pair<int, int>>& BroadPhase::FindOverlaps(
    std::span<const AxisAlignedBox> boxes) {
  pairs_.clear();
  order_.clear();
  long_.clear();
  const int n = static_cast<int>(boxes.size());
  const auto is_empty = [&](int i) {
    return (boxes[i].lower.array() > boxes[i].upper.array()).any();
  };

  // the axis along which the centres spread most, by their variance; without the very large boxes
  Vector3d sum = Vector3d::Zero(), squares = Vector3d::Zero();
  int count = 0;
  for (int i = 0; i < n; ++i) {
    if (is_empty(i) || (boxes[i].upper - boxes[i].lower).maxCoeff() > 1e5) continue;
    const Vector3d center = 0.5 * (boxes[i].lower + boxes[i].upper);
    sum += center;
    squares += center.cwiseAbs2();
    ++count;
  }
  int axis = 0;
  double spread = 0;
  if (count > 0) {
    const Vector3d variance = squares / count - (sum / count).cwiseAbs2();
    spread = variance.maxCoeff(&axis);
  }

  // long boxes would stay open through the whole sweep
  for (int i = 0; i < n; ++i) {
    if (is_empty(i)) continue;
    const double length = boxes[i].upper[axis] - boxes[i].lower[axis];
    (length * length > spread ? long_ : order_).push_back(i);
  }
  const auto add = [&](int i, int j) {
    if (boxes[i].Overlaps(boxes[j])) pairs_.emplace_back(std::min(i, j), std::max(i, j));
  };
  for (std::size_t k = 0; k < long_.size(); ++k) {
    for (std::size_t l = 0; l < k; ++l) add(long_[k], long_[l]);
    for (int i : order_) add(long_[k], i);
  }
  std::sort(order_.begin(), order_.end(), [&](int i, int j) {
    return std::pair(boxes[i].lower[axis], i) < std::pair(boxes[j].lower[axis], j);
  });
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const double end = boxes[order_[k]].upper[axis];
    for (std::size_t l = k + 1; l < order_.size() && boxes[order_[l]].lower[axis] <= end; ++l)
      add(order_[k], order_[l]);
  }
  std::sort(pairs_.begin(), pairs_.end());
  return pairs_;
}

}  // namespace pliant::physics
