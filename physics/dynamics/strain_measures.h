#pragma once

#include <span>

#include <Eigen/Core>

#include "physics/dynamics/block.h"

namespace pliant::physics {

// One measure of a deformation gradient F; of kVonMisesStress from the first Piola–Kirchhoff stress P that goes with it.
void CalcMeasure(FieldMeasure measure, const Eigen::Matrix3d& F, const Eigen::Matrix3d& P,
                 std::span<double> values);

// Principal stretches or directions from six components of F Fᵀ, as averages of it have no F.
void CalcPrincipal(FieldMeasure measure, std::span<const double> left_cauchy_green,
                   std::span<double> values);

}  // namespace pliant::physics
