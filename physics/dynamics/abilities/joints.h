#pragma once

#include <span>

#include <Eigen/Core>

#include "physics/dynamics/block_inputs.h"
#include "physics/dynamics/block_state.h"

namespace pliant::physics {

// A block whose frames hang on each other by joints.
class JointSet {
 public:
  virtual ~JointSet() = default;
  // The wrench that holds each frame on the one before it: torque about the joint's origin, then
  // force, in W, six numbers a frame, at accelerations `vdot` under external `forces` on frames.
  // Zero for frames that hang on nothing.
  virtual void CalcReactions(const BlockState& state, std::span<const double> vdot,
                             const Eigen::Vector3d& gravity, std::span<const BlockForce> forces,
                             std::span<double> reactions) const = 0;
  // Largest error of what joints hold together [m], [rad]; above zero in maximal coordinates.
  virtual double CalcDrift(const BlockState& /*state*/) const { return 0; }
};

}  // namespace pliant::physics
