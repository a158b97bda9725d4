#pragma once

#include <memory>

#include "physics/dynamics/block.h"

namespace pliant::physics {

struct RigidBodyParameters {
  double mass = 0;                                             // [kg], > 0
  Eigen::Vector3d p_BoBcm = Eigen::Vector3d::Zero();           // in B [m]
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();           // about Bcm, in B [kg·m²]
  RigidTransform X_WB;                                         // initial pose
  Eigen::Vector3d linear_velocity = Eigen::Vector3d::Zero();   // of Bcm [m/s]
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();  // [rad/s]
};

// A free rigid body. Positions: quaternion R_WB (w, x, y, z), p_WBcm. Velocities: ω_WB, v_WBcm. One
// group of six.
std::shared_ptr<const DynamicsBlock> MakeFreeBodyBlock(const RigidBodyParameters& parameters);

// A body whose motion is prescribed. Positions: quaternion R_WB, p_WBo, then its present ω_WB and
// v_WBo. No velocities. `body` is its own index in Model::bodies.
std::shared_ptr<const DynamicsBlock> MakeKinematicBodyBlock(int body, const RigidTransform& X_WB);

}  // namespace pliant::physics
