#pragma once

#include <span>

#include <Eigen/Core>

#include "physics/dynamics/abilities/compliant_form.h"
#include "physics/dynamics/abilities/frames.h"
#include "physics/dynamics/block_rows.h"
#include "physics/dynamics/contact_point.h"

namespace pliant::physics {

// The step of a block that moves frames.
class FrameStep {
 public:
  virtual ~FrameStep() = default;

  // FrameSet::CalcFrames at the state from which the next Pose starts, which reuses the kinematics.
  // False, with nothing done, when Pose has no use for them.
  virtual bool CalcFrames(const BlockState& /*state*/, std::span<FrameMotion> /*frames*/) {
    return false;
  }
  // As BlockStep::AppendRows and CalcPrescribedVelocity, for the angular velocity of the frame that
  // a point is attached to.
  virtual void AppendAngularRows(const Attachment& attachment, BlockRows* rows) const = 0;
  virtual Eigen::Vector3d CalcPrescribedAngularVelocity(const Attachment&) const {
    return Eigen::Vector3d::Zero();
  }
};

// The step of a block whose velocities are those of joints, or stand beside them.
class JointStep {
 public:
  virtual ~JointStep() = default;

  // Angular and linear rows of an attachment on the joints' velocities: one part each, with a
  // column for each of these.
  virtual void AppendJointRows(const Attachment& attachment, BlockRows* angular,
                               BlockRows* linear) const = 0;
  // Appends the rate of a joint as rows of the groups, the first of the three, where it is no
  // velocity of the step's space itself. False, with nothing done, when it is one.
  virtual bool AppendVelocityRow(int /*velocity*/, BlockRows*) const { return false; }
  // Generalised force that holds the block at rest against gravity, per velocity of the State.
  virtual void CalcGravityCompensation(std::span<double> force) const = 0;
};

// What a step can do beyond BlockStep; null where it can not. Found once for each step.
struct StepAbilities {
  FrameStep* frames = nullptr;
  JointStep* joints = nullptr;
  CompliantForm* compliance = nullptr;  // the block is posed in compliance form
};

}  // namespace pliant::physics
