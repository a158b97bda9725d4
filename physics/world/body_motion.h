#pragma once

#include "physics/dynamics/model.h"

namespace pliant::physics {

// Positions and velocities of bodies of any kind, in W. `body` is an index in Model::bodies.

Eigen::Vector3d CalcCenterOfMass(const Model& model, const State& state, int body);  // [m]
Eigen::Vector3d CalcCenterOfMassVelocity(const Model& model, const State& state,
                                         int body);  // [m/s]

// A vertex of a deformable body [m], [m/s].
Eigen::Vector3d CalcVertexPosition(const Model& model, const State& state, int body, int vertex);
Eigen::Vector3d CalcVertexVelocity(const Model& model, const State& state, int body, int vertex);

// A point fixed on a rigid body, p_BP in the body's frame [m], [m/s].
Eigen::Vector3d CalcPointPosition(const Model& model, const State& state, int body,
                                  const Eigen::Vector3d& p_BP);
Eigen::Vector3d CalcPointVelocity(const Model& model, const State& state, int body,
                                  const Eigen::Vector3d& p_BP);

// Rotation of a body. For a deformable one: the rotation that best fits its rest shape to its
// present one (polar factor of Σ V_e (x_e − x̄)(X_e − X̄)ᵀ over element centroids). w ≥ 0.
Eigen::Quaterniond CalcOrientation(const Model& model, const State& state, int body);
Eigen::Vector3d CalcAngularVelocity(const Model& model, const State& state, int body);  // [rad/s]

// Present volume of a deformable body, or volume of a rigid body's shapes (overlaps count twice)
// [m³].
double CalcBodyVolume(const Model& model, const State& state, int body);

}  // namespace pliant::physics
