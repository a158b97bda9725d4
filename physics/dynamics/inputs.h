#pragma once

#include <vector>

#include <Eigen/Core>

#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// What controllers asked for in one step, already arbitrated and clamped.
struct Inputs {
  // Pose that a KINEMATIC body reaches at the end of the step. A body without one keeps still.
  struct PoseTarget {
    int body;  // index in Model::bodies
    RigidTransform X_WB;
  };
  // External force on a body through the step [N], [N·m], world frame.
  struct AppliedForce {
    int body;       // index in Model::bodies
    int node = -1;  // a vertex of a deformable body; −1: at `p_BP`, or the centre of mass
    bool at_center_of_mass = true;
    Eigen::Vector3d p_BP = Eigen::Vector3d::Zero();
    Eigen::Vector3d force_W = Eigen::Vector3d::Zero();
    Eigen::Vector3d torque_W = Eigen::Vector3d::Zero();
  };

  std::vector<PoseTarget> poses;
  std::vector<AppliedForce> forces;
};

}  // namespace pliant::physics
