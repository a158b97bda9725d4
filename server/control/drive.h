#pragma once

#include <optional>
#include <variant>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "physics/spatial/rigid_transform.h"

namespace pliant::server {

// What a commanded body may do at most.
struct DriveLimits {
  double speed = 1;               // [m/s]
  double spin = 6;                // [rad/s]
  double acceleration = 10;       // [m/s²]
  double spin_acceleration = 60;  // [rad/s²]
};

struct TwistGoal {
  Eigen::Vector3d linear = Eigen::Vector3d::Zero();   // world frame [m/s]
  Eigen::Vector3d angular = Eigen::Vector3d::Zero();  // world frame [rad/s]
};
struct PoseGoal {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  Eigen::Quaterniond orientation = Eigen::Quaterniond::Identity();
};
using DriveGoal = std::variant<TwistGoal, PoseGoal>;

// Moves a kinematic body towards what is commanded, within its limits: velocities are clamped and change no faster than
// the limits allow. Without a goal it ramps to rest and holds. It is a function of the calls alone.
class Drive {
 public:
  explicit Drive(const DriveLimits& limits = {}) : limits_(limits) {}

  // Takes a body over where it is, at rest: engaging never makes it jump.
  void Engage(const physics::RigidTransform& X_WB);
  void Release() { engaged_ = false; }
  bool engaged() const { return engaged_; }
  bool at_rest() const { return v_.isZero(0) && w_.isZero(0); }

  // Pose at the end of a step of h [s].
  physics::RigidTransform Advance(const std::optional<DriveGoal>& goal, double h);

  const Eigen::Vector3d& linear_velocity() const { return v_; }
  const Eigen::Vector3d& angular_velocity() const { return w_; }

 private:
  const DriveLimits limits_;
  bool engaged_ = false;
  Eigen::Vector3d p_ = Eigen::Vector3d::Zero();
  Eigen::Quaterniond q_ = Eigen::Quaterniond::Identity();
  Eigen::Vector3d v_ = Eigen::Vector3d::Zero();
  Eigen::Vector3d w_ = Eigen::Vector3d::Zero();
};

}  // namespace pliant::server
