#pragma once

#include <Eigen/Core>

#include "physics/fem/materials/lanes.h"

namespace pliant::physics {

// Rotation R of the polar decomposition F = R S with det R = +1; for an inverted F (det F < 0) the
// rotation nearest to it, so that the element is pushed back the shortest way.
Eigen::Matrix3d CalcPolarRotation(const Eigen::Matrix3d& F);

// The same for four matrices, to within 1e-14 of orthogonality.
LaneMatrix3 CalcPolarRotations(const LaneMatrix3& F);

}  // namespace pliant::physics
