#pragma once

#include <Eigen/Core>

#include "physics/dynamics/model.h"

namespace pliant::physics {

// The mass of a body is taken as point masses at the centres of its elements.

// Coordinate p · direction, along a unit vector, below which the fraction `quantile` of the body's
// mass lies [m]. 0 and 1 give the coordinates of the first and of the last element.
double CalcExtent(const Model& model, const State& state, int body,
                  const Eigen::Vector3d& direction, double quantile);

// Mass in a box with centre Fo, the axes of F and these half lengths [kg].
double CalcMassWithin(const Model& model, const State& state, int body, const RigidTransform& X_WF,
                      const Eigen::Vector3d& half_size);

}  // namespace pliant::physics
