#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace pliant::physics {

// Three rows, stored by the groups of velocities that they depend on: the velocity of a point, or
// the angular velocity of a frame, Σ matrix · v_group + prescribed.
class BlockRows {
 public:
  // Groups of three velocities that move the point by weights, Σ w v_group, such as the nodes of a
  // grid cell.
  struct Weighted {
    std::span<const int> groups;
    std::span<const double> weights;
  };
  void Clear() {
    parts_.clear();
    values_.clear();
    num_sets_ = 0;
    groups_.clear();
    weights_.clear();
    prescribed.setZero();
  }
  bool empty() const { return parts_.empty() && num_sets_ == 0; }
  // Adds ∂v/∂v_group, 3 × num_columns, column-major: 3 columns for a node, 6 for a free body, n for
  // a joint tree. Returns zeros for the caller to fill in, valid until the next call.
  double* Append(int group, int num_columns) {
    parts_.push_back({group, num_columns, values_.size()});
    values_.resize(values_.size() + 3 * static_cast<std::size_t>(num_columns), 0.0);
    return &values_[parts_.back().values];
  }
  // Adds groups that move the point by weights. Many groups take less memory and time this way.
  void AppendByWeights(std::span<const int> groups, std::span<const double> weights) {
    if (groups.empty()) return;
    ++num_sets_;
    groups_.insert(groups_.end(), groups.begin(), groups.end());
    weights_.insert(weights_.end(), weights.begin(), weights.end());
  }

  // Whether AppendByWeights has been called once, and Append never.
  bool is_by_weights() const { return parts_.empty() && num_sets_ == 1; }
  // The groups and weights that AppendByWeights was given.
  Weighted weighted() const { return {groups_, weights_}; }

  // ∂v/∂v_group of rows to which Append has added one group and nothing else has been added.
  const double* only_matrix() const { return values_.data(); }

  // Calls f(group, num_columns, J) for each part, with J = ∂v/∂v_group, those by weights included.
  // A group may come several times.
  template <typename F>
  void ForEachPart(const F& f) const {
    for (const Part& part : parts_) f(part.group, part.num_columns, &values_[part.values]);
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const double J[9] = {weights_[k], 0, 0, 0, weights_[k], 0, 0, 0, weights_[k]};
      f(groups_[k], 3, static_cast<const double*>(J));
    }
  }

  // Velocity due to prescribed motion [m/s] or [rad/s].
  Eigen::Vector3d prescribed = Eigen::Vector3d::Zero();

 private:
  struct Part {
    int group, num_columns;
    std::size_t values;
  };
  std::vector<Part> parts_;
  std::vector<double> values_;
  int num_sets_ = 0;  // calls of AppendByWeights
  std::vector<int> groups_;
  std::vector<double> weights_;
};

}  // namespace pliant::physics
