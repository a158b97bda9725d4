#pragma once

#include <limits>
#include <vector>

#include <Eigen/Core>

#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// Commands for one step, already arbitrated and clamped.
struct Inputs {
  // Pose that a KINEMATIC body reaches at the end of the step. A body without one does not move.
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
  // Target of an actuator: a position [rad], [m], a rate, or (torque actuators) an effort. It holds
  // until the next target.
  struct ActuatorTarget {
    int actuator;  // index in Model::actuators
    double value;
  };
  // Gains of an actuator, none negative. They hold until they are set again. Only a position
  // actuator has a stiffness; an effort actuator with damping also brakes its joint. A position or
  // velocity actuator without gains is off.
  struct ActuatorGains {
    int actuator;
    double stiffness;     // [N·m/rad], [N/m]
    double damping;       // [N·m·s/rad], [N·s/m]
    double effort_limit;  // [N·m], [N]
  };
  // Makes an actuator hold its joint at a position through the step, with up to its effort limit,
  // instead of following its target.
  struct ActuatorHold {
    int actuator;
    double position;  // [rad], [m]
  };
  // Spring and damper that pull a point of a body towards a point A of the world through the step,
  // treated implicitly.
  struct PointSpring {
    int body;       // index in Model::bodies
    int node = -1;  // a vertex of a deformable body; −1: the point p_BP
    Eigen::Vector3d p_BP = Eigen::Vector3d::Zero();
    Eigen::Vector3d p_WA = Eigen::Vector3d::Zero();
    double stiffness = 0;                                          // [N/m]
    double damping = 0;                                            // [N·s/m]
    double force_limit = std::numeric_limits<double>::infinity();  // on the magnitude [N]
  };
  // Force on one velocity of a block through the step, in addition to actuators [N·m], [N].
  struct JointForce {
    int block;
    int velocity;
    double force;
  };
  // Twist that a differential-IK controller imposes on its link through the step: angular [rad/s],
  // then linear [m/s], W.
  struct TwistTarget {
    int controller;  // index in Model::controllers
    Eigen::Vector3d angular_W = Eigen::Vector3d::Zero();
    Eigen::Vector3d linear_W = Eigen::Vector3d::Zero();
  };
  // Target pose of the link of a differential-IK controller.
  struct LinkPoseTarget {
    int controller;
    RigidTransform X_WL;
  };
  // Position of a gripper's joints [m] or [rad]. It holds until the next target.
  struct GripperTarget {
    int controller;
    double position;
  };
  // Gauge pressure of a volume constraint at its rest volume. It holds until it is set again.
  struct PressureTarget {
    int constraint;  // index in Model::constraints
    double gauge;    // [Pa]
  };

  std::vector<PoseTarget> poses;
  std::vector<AppliedForce> forces;
  std::vector<ActuatorTarget> actuators;
  std::vector<JointForce> joint_forces;
  std::vector<TwistTarget> twists;
  std::vector<LinkPoseTarget> link_poses;
  std::vector<GripperTarget> grippers;
  std::vector<ActuatorGains> gains;
  std::vector<ActuatorHold> holds;
  std::vector<PointSpring> springs;
  std::vector<PressureTarget> pressures;
  // Memory of the code that makes the Inputs, in its own layout. It becomes part of the State, so
  // that a run continued from any state repeats itself.
  std::vector<double> drives;

  // Clears all lists and keeps their memory.
  void Clear() {
    poses.clear();
    forces.clear();
    actuators.clear();
    joint_forces.clear();
    twists.clear();
    link_poses.clear();
    grippers.clear();
    gains.clear();
    holds.clear();
    springs.clear();
    pressures.clear();
    drives.clear();
  }
};

}  // namespace pliant::physics
