#pragma once

#include <span>

#include <Eigen/Core>

#include "physics/dynamics/block_inputs.h"
#include "physics/dynamics/block_rows.h"
#include "physics/dynamics/block_state.h"
#include "physics/dynamics/constraint_row.h"
#include "physics/dynamics/contact_point.h"

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

// The step of a block whose velocities are, or include, joint velocities.
class JointStep {
 public:
  virtual ~JointStep() = default;

  // Angular and linear rows of an attachment on the joint velocities: one part each, with a column
  // per joint velocity.
  virtual void AppendJointRows(const Attachment& attachment, BlockRows* angular,
                               BlockRows* linear) const = 0;
  // Appends the rate of a joint as rows on groups (in the first of the three rows) when it is not
  // itself a velocity of the step's space. Returns false and does nothing when it is.
  virtual bool AppendVelocityRow(int /*velocity*/, BlockRows*) const { return false; }
  // Appends the joints' own constraints over this step: limits within reach, dry friction. `block`
  // is the block's index in the Model.
  virtual void AppendConstraints(int block, ConstraintSet* constraints) const = 0;
  // Generalised force that holds the block at rest against gravity, per velocity of the State.
  virtual void CalcGravityCompensation(std::span<double> force) const = 0;
};

}  // namespace pliant::physics
