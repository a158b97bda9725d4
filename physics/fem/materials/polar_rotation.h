#pragma once

#include <Eigen/Core>

#include "physics/fem/materials/lanes.h"

namespace pliant::physics {

// Rotation R of the polar decomposition F = R S with det R = +1; for an inverted F (det F < 0) the
// nearest rotation, so that the element recovers along the shortest path.
Eigen::Matrix3d CalcPolarRotation(const Eigen::Matrix3d& F);

// Polar rotations of four matrices, orthogonal to within 1e-14.
LaneMatrix3 CalcPolarRotations(const LaneMatrix3& F);
// Returns Rᵀ F, the stretches of F if R is its polar rotation. R may also be that of an earlier F.
LaneMatrix3 CalcStretches(const LaneMatrix3& R, const LaneMatrix3& F);

}  // namespace pliant::physics
