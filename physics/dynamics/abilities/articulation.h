#pragma once

#include <span>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// A movable joint of an Articulation and its place in q and v.
struct ArticulationJoint {
  std::string name;  // may be empty
  std::string link;  // child link
  int position = 0, num_positions = 0;
  int velocity = 0, num_velocities = 0;
  bool starts_with_quaternion = false;  // unit quaternion w, x, y, z
};

// An articulated system of links: kinematics and dynamics at any positions q and velocities v,
// outside the steps of a world. Links are numbered as the frames of their block, parents before
// children.
class Articulation {
 public:
  virtual ~Articulation() = default;
  virtual int num_links() const = 0;
  virtual int num_positions() const = 0;
  virtual int num_velocities() const = 0;
  virtual int parent(int link) const = 0;  // −1: the world
  // In the order of their numbers.
  virtual std::vector<ArticulationJoint> DescribeJoints() const = 0;

  // Pose of each link in the world.
  virtual void CalcLinkPoses(std::span<const double> q, std::span<RigidTransform> poses) const = 0;
  // Jacobian of `link`, 6 × n, column-major: angular, then linear velocity of its origin, in W.
  virtual void CalcJacobian(std::span<const double> q, int link, std::span<double> J) const = 0;
  // Mass matrix, n × n, column-major.
  virtual void CalcMassMatrix(std::span<const double> q, std::span<double> M) const = 0;
  // Bias τ = c(q, v) − τ_g, which keeps v̇ = 0; without joint damping, springs and friction.
  virtual void CalcBias(std::span<const double> q, std::span<const double> v,
                        const Eigen::Vector3d& gravity, std::span<double> tau) const = 0;
  // v̇ from τ.
  virtual void CalcForwardDynamics(std::span<const double> q, std::span<const double> v,
                                   std::span<const double> tau, const Eigen::Vector3d& gravity,
                                   std::span<double> vdot) const = 0;
  // τ from v̇.
  virtual void CalcInverseDynamics(std::span<const double> q, std::span<const double> v,
                                   std::span<const double> vdot, const Eigen::Vector3d& gravity,
                                   std::span<double> tau) const = 0;
};

}  // namespace pliant::physics
