#pragma once

#include <optional>
#include <variant>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "physics/dynamics/model.h"
#include "physics/spatial/rigid_transform.h"

namespace pliant::server {

using physics::DriveLimits;

// Shortens a finite vector to at most the length `largest`.
Eigen::Vector3d ClampLength(const Eigen::Vector3d& x, double largest);

struct TwistGoal {
  Eigen::Vector3d linear = Eigen::Vector3d::Zero();   // world frame [m/s]
  Eigen::Vector3d angular = Eigen::Vector3d::Zero();  // world frame [rad/s]
};
struct PoseGoal {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  Eigen::Quaterniond orientation = Eigen::Quaterniond::Identity();
};
using DriveGoal = std::variant<TwistGoal, PoseGoal>;

// Velocity that tracks a commanded twist within limits: it is clamped and rate-limited.
struct DriveTwist {
  Eigen::Vector3d linear = Eigen::Vector3d::Zero();   // [m/s]
  Eigen::Vector3d angular = Eigen::Vector3d::Zero();  // [rad/s]

  void Approach(const TwistGoal& wanted, const DriveLimits& limits, double h);
  bool at_rest() const { return linear.isZero(0) && angular.isZero(0); }

  static constexpr std::size_t kNumbers = 6;
  void Load(const double* from);
  void Save(std::vector<double>* to) const;
};

// Velocity that moves a frame at (p, orientation) to a pose as fast as braking at half the
// acceleration allows, without overshooting in one step. `gain` bounds it to that fraction of the
// remaining distance a second [1/s].
TwistGoal CalcTwistTowards(const PoseGoal& goal, const Eigen::Vector3d& p,
                           const Eigen::Quaterniond& orientation, const DriveLimits& limits,
                           double gain, double h);

// Keeps a frame at p within the limits' box: its velocity towards a side is at most that from which
// braking at half the acceleration stops it there.
void KeepWithin(const DriveLimits& limits, const Eigen::Vector3d& p, double h, TwistGoal* wanted);

// Moves a kinematic body towards its commanded goal: velocities are clamped and rate-limited.
// Without a goal the body ramps to rest and holds. Deterministic: depends on the calls alone.
class Drive {
 public:
  explicit Drive(const DriveLimits& limits = {}) : limits_(limits) {}

  // Takes over a body at its current pose, at rest, so that engaging never causes a jump.
  void Engage(const physics::RigidTransform& X_WB);
  void Release() { engaged_ = false; }
  bool engaged() const { return engaged_; }

  // The state of the drive, at `from` or appended to `to`.
  static constexpr std::size_t kNumbers = 14;
  void Load(const double* from);
  void Save(std::vector<double>* to) const;
  bool at_rest() const { return twist_.at_rest(); }

  // Pose at the end of a step of h [s].
  physics::RigidTransform Advance(const std::optional<DriveGoal>& goal, double h);

  const Eigen::Vector3d& linear_velocity() const { return twist_.linear; }
  const Eigen::Vector3d& angular_velocity() const { return twist_.angular; }

 private:
  DriveLimits limits_;
  bool engaged_ = false;
  Eigen::Vector3d p_ = Eigen::Vector3d::Zero();
  Eigen::Quaterniond q_ = Eigen::Quaterniond::Identity();
  DriveTwist twist_;
};

}  // namespace pliant::server
