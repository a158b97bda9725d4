#pragma once

#include <array>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// Generalised winding number of any triangles, closed or not: 1 inside a closed surface that faces
// outwards, 0 outside, and in between near holes (Jacobson et al. 2013). Distant triangles are
// lumped into dipoles (Barill et al. 2018).
class WindingNumber {
 public:
  // Precomputes the tree of dipoles, whose errors are a few hundredths.
  explicit WindingNumber(const TriangleMesh& mesh);

  double Calc(const Eigen::Vector3d& p) const;

 private:
  // A leaf holds corners_[first, first + count); an inner node (count = 0) has children first and
  // first + 1.
  struct Node {
    Eigen::Vector3d center = Eigen::Vector3d::Zero();       // [m]
    Eigen::Vector3d area_normal = Eigen::Vector3d::Zero();  // [m²]
    double squared_reach = 0;  // beyond this distance, the dipole represents the node [m²]
    int first = 0, count = 0;
  };

  std::vector<std::array<Eigen::Vector3d, 3>> corners_;
  std::vector<Node> nodes_;
};

}  // namespace pliant::physics
