#pragma once

#include <cstddef>
#include <vector>

#include <Eigen/Core>

namespace pliant::physics {

// Three rows, stored by the groups of velocities that they depend on: the velocity of a point, or
// the angular velocity of a frame, Σ matrix · v_group + prescribed.
class BlockRows {
 public:
  struct Part {
    int group;           // group of the block's VelocitySpace
    int num_columns;     // 3 for a node, 6 for a free body, n for a joint tree
    std::size_t values;  // ∂v/∂v_group, 3 × num_columns, column-major
  };
  void Clear() {
    parts_.clear();
    values_.clear();
    prescribed.setZero();
  }
  bool empty() const { return parts_.empty(); }
  const std::vector<Part>& parts() const { return parts_; }
  const double* matrix(const Part& part) const { return &values_[part.values]; }
  // Returns zeros for the caller to fill in, valid until the next call.
  double* Append(int group, int num_columns) {
    parts_.push_back({group, num_columns, values_.size()});
    values_.resize(values_.size() + 3 * static_cast<std::size_t>(num_columns), 0.0);
    return &values_[parts_.back().values];
  }

  // Velocity due to prescribed motion [m/s] or [rad/s].
  Eigen::Vector3d prescribed = Eigen::Vector3d::Zero();

 private:
  std::vector<Part> parts_;
  std::vector<double> values_;
};

}  // namespace pliant::physics
