#pragma once

#include <span>

#include <Eigen/Core>

#include "physics/dynamics/abilities/compliant_form.h"
#include "physics/dynamics/abilities/frames.h"
#include "physics/dynamics/block_rows.h"
#include "physics/dynamics/contact_point.h"

namespace pliant::solvers {
class MomentumTerm;
}

namespace pliant::physics {

// The step of a block that moves frames.
class FrameStep {
 public:
  virtual ~FrameStep() = default;

  // FrameSet::CalcFrames at the state from which the next Pose starts, which reuses the kinematics.
  // Returns false and does nothing when Pose cannot reuse them.
  virtual bool CalcFrames(const BlockState& /*state*/, std::span<FrameMotion> /*frames*/) {
    return false;
  }
  // As BlockStep::AppendRows and CalcPrescribedVelocity, for the angular velocity of the frame to
  // which a point is attached.
  virtual void AppendAngularRows(const Attachment& attachment, BlockRows* rows) const = 0;
  virtual Eigen::Vector3d CalcPrescribedAngularVelocity(const Attachment&) const {
    return Eigen::Vector3d::Zero();
  }
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
  // Generalised force that holds the block at rest against gravity, per velocity of the State.
  virtual void CalcGravityCompensation(std::span<double> force) const = 0;
};

// Optional interfaces of a step; null where it does not implement one. Looked up once per step.
struct StepAbilities {
  FrameStep* frames = nullptr;
  JointStep* joints = nullptr;
  CompliantForm* compliance = nullptr;  // the block is posed in compliance form
  // The convex potential of all velocities that a nonlinear momentum balance has beyond its
  // linearisation. A convex problem in which they all participate may include it.
  const solvers::MomentumTerm* beyond_linear = nullptr;
};

}  // namespace pliant::physics
