#pragma once

#include <vector>

#include "physics/dynamics/model.h"
#include "physics/stepping/stepper.h"

namespace pliant::physics {

// How contact presses on a deformable body. By nodes of its mesh (zero inside), and by triangles of
// its surface.
struct ContactField {
  std::vector<Eigen::Vector3d> vertex_traction;    // on the body [Pa]
  std::vector<double> vertex_pressure;             // into the body [Pa], ≥ 0
  std::vector<Eigen::Vector3d> triangle_traction;  // as Body::surface.triangles
  std::vector<double> triangle_pressure;
};

// Contact forces of the step of length h that led to `state`, spread over the surface: each goes to
// its nodes by its weights, and over the part of their triangles that faces it; a triangle bears
// the mean of its vertices. What contact between a body and itself exerts counts on both sides.
//
// The vertex tractions times the areas that they act on sum to the force that other bodies exert.
ContactField CalcContactField(const Model& model, const State& state, const StepReport& report,
                              int body, double h);

}  // namespace pliant::physics
