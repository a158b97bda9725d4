#pragma once

#include <span>

#include <Eigen/Core>

#include "physics/dynamics/block_inputs.h"
#include "physics/dynamics/block_state.h"

namespace pliant::physics {

// A block whose frames are connected by joints.
class JointSet {
 public:
  virtual ~JointSet() = default;
  // Joint reactions: the wrench of each frame's parent on it, as torque about the joint's origin,
  // then force, in W, six numbers per frame, at accelerations `vdot` under external `forces` on
  // frames. Zero for frames without a parent joint.
  virtual void CalcReactions(const BlockState& state, std::span<const double> vdot,
                             const Eigen::Vector3d& gravity, std::span<const BlockForce> forces,
                             std::span<double> reactions) const = 0;
  // Largest position error of the joints [m], [rad]; nonzero in maximal coordinates only.
  virtual double CalcDrift(const BlockState& /*state*/) const { return 0; }
};

}  // namespace pliant::physics
