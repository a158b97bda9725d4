#pragma once

#include <Eigen/Core>

#include "physics/dynamics/model.h"

namespace pliant::physics {

// Where the mass of a body with elements is: that of each element at its centre.

// Coordinate of points p along the unit vector `direction`, p · direction, below which the part
// `quantile` of the body's mass is [m]: with 0 and 1, those of the first and the last element.
double CalcExtent(const Model& model, const State& state, int body,
                  const Eigen::Vector3d& direction, double quantile);

// Mass in a box about Fo, of axes F and these half lengths [kg].
double CalcMassWithin(const Model& model, const State& state, int body, const RigidTransform& X_WF,
                      const Eigen::Vector3d& half_size);

}  // namespace pliant::physics
