#pragma once

#include <Eigen/Core>

#include "physics/fem/materials/lanes.h"

namespace pliant::physics {

// Rotation R of the polar decomposition F = R S with det R = +1; for an inverted F (det F < 0) the
// nearest rotation, so that the element recovers along the shortest path.
Eigen::Matrix3d CalcPolarRotation(const Eigen::Matrix3d& F);

// Polar rotations of four matrices, orthogonal to within 1e-14.
LaneMatrix3 CalcPolarRotations(const LaneMatrix3& F);
// The stretches Rᵀ F that belong to them; also of the rotation R of another moment.
LaneMatrix3 CalcStretches(const LaneMatrix3& R, const LaneMatrix3& F);

}  // namespace pliant::physics
