#pragma once

#include <vector>

#include "physics/dynamics/model.h"
#include "physics/stepping/stepper.h"

namespace pliant::physics {

// Contact tractions and pressures on a deformable body, at its nodes (zero in the interior, and
// everywhere on a body without a surface) and on the triangles of its surface.
struct ContactField {
  std::vector<Eigen::Vector3d> vertex_traction;    // on the body [Pa]
  std::vector<double> vertex_pressure;             // into the body [Pa], ≥ 0
  std::vector<Eigen::Vector3d> triangle_traction;  // in the order of Body::surface.triangles
  std::vector<double> triangle_pressure;
};

// Contact forces of the step of length h that led to `state`, spread over the surface: each is
// distributed to its nodes by weight, over the area of their triangles that faces it; a triangle
// has the mean of its vertices. Self-contact counts on both sides.
//
// The sum of vertex tractions times their areas equals the force of other bodies.
ContactField CalcContactField(const Model& model, const State& state, const StepReport& report,
                              int body, double h);

}  // namespace pliant::physics
