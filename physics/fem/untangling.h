#pragma once

#include <mutex>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/fem/fem_model.h"

namespace pliant::physics {

// Which way inverted elements are pushed back. The polar rotation of one turns over the direction
// of its smallest stretch, which leads back as long as it is pressed through by less than its
// width. Beyond, it is content to be turned about, but its neighbours hold its other vertices where
// they are: it would stay inverted for ever. So it takes of the three rotations that turn over one
// principal direction the one that is closest to how its neighbours are turned. Each is symmetric
// in R0ᵀF, and so exerts no torque.
class Untangling {
 public:
  explicit Untangling(const FemModel& model) : model_(model) {}

  // Puts these in place of R0 for the lanes of a corotated batch that are inverted. All batches of
  // one step, with its `q`, in any order and at the same time.
  void Turn(const ElementBatch& batch, std::span<const double> q, const LaneMatrix3& F,
            LaneMatrix3* R0);

 private:
  void FindNeighbours(std::span<const double> q);

  const FemModel& model_;
  // Σ V F of the elements around each node that are not inverted, and of all of them; found when
  // first needed
  std::once_flag is_found_;
  std::vector<Eigen::Matrix3d> around_;
  Eigen::Matrix3d of_body_;
};

}  // namespace pliant::physics
