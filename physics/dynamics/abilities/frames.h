#pragma once

#include <limits>
#include <span>

#include <Eigen/Core>

#include "physics/dynamics/block_rows.h"
#include "physics/dynamics/block_state.h"
#include "physics/dynamics/contact_point.h"
#include "physics/spatial/rigid_transform.h"

namespace pliant::physics {

// Pose and velocity of a rigid frame B.
struct FrameMotion {
  RigidTransform X_WB;
  Eigen::Vector3d omega_W = Eigen::Vector3d::Zero();  // [rad/s]
  Eigen::Vector3d v_W = Eigen::Vector3d::Zero();      // of Bo [m/s]

  Eigen::Vector3d CalcPointVelocity(const Eigen::Vector3d& p_W) const {
    return v_W + omega_W.cross(p_W - X_WB.p);
  }
};

// A block that moves rigid frames: the links of a joint tree, a free or kinematic body.
class FrameSet {
 public:
  virtual ~FrameSet() = default;
  virtual int num_frames() const = 0;
  // `frames` has num_frames() entries.
  virtual void CalcFrames(const BlockState& state, std::span<FrameMotion> frames) const = 0;
  // A bound on the speed, in `state`, of all points within r [m] of their frame's origin [m/s];
  // infinite if unknown.
  virtual double CalcSpeedBound(const BlockState& /*state*/, double /*r*/) const {
    return std::numeric_limits<double>::infinity();
  }
  // β of near-rigid contacts on a frame, whose compliance is β² W / 4π² with the Delassus operator
  // W (han2023 §IV). With the paper's β = 1 and h = 10 ms, a rigid body overlaps by some tenths of
  // a millimetre under bodies ten times heavier.
  virtual double contact_beta() const { return kRigidBeta; }
  static constexpr double kRigidBeta = 0.1;
  // Fraction of gravity that acts on a frame.
  virtual double gravity_scale(int /*frame*/) const { return 1; }
};

// The step of a block that moves frames.
class FrameStep {
 public:
  virtual ~FrameStep() = default;

  // FrameSet::CalcFrames at the state from which the next Pose starts, which reuses the kinematics.
  // Returns false and does nothing when Pose cannot reuse them.
  virtual bool CalcFrames(const BlockState& /*state*/, std::span<FrameMotion> /*frames*/) {
    return false;
  }
  // As BlockStep::AppendRows, for the angular velocity of the frame to which a point is attached.
  virtual void AppendAngularRows(const Attachment& attachment, BlockRows* rows) const = 0;
};

}  // namespace pliant::physics
