#pragma once

#include <mutex>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/fem/fem_model.h"

namespace pliant::physics {

// Chooses R0 of inverted elements so that they recover. The polar rotation of an inverted F flips
// the direction of the smallest stretch, which restores an element inverted by less than its width.
// Beyond that, the element would settle in a flipped state while its neighbours hold its other
// vertices in place, and stay inverted for ever. Therefore, of the three rotations that flip one
// principal direction, the one closest to the neighbours' rotation is used. R0ᵀF is symmetric for
// each of them, so none exerts a torque.
class Untangling {
 public:
  explicit Untangling(const FemModel& model) : model_(model) {}

  // Replaces R0 in the inverted lanes of a corotated batch. Batches of one step, all with its `q`,
  // may be processed in any order and concurrently.
  void Turn(const ElementBatch& batch, std::span<const double> q, const LaneMatrix3& F,
            LaneMatrix3* R0);

 private:
  void FindNeighbours(std::span<const double> q);

  const FemModel& model_;
  // Σ V F over the elements around each node that are not inverted, and over all such elements;
  // computed on first use
  std::once_flag is_found_;
  std::vector<Eigen::Matrix3d> around_;
  Eigen::Matrix3d of_body_;
};

}  // namespace pliant::physics
