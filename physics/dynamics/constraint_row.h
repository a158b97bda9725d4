#pragma once

#include <limits>
#include <vector>

#include <Eigen/Core>

#include "physics/dynamics/contact_point.h"

namespace pliant::physics {

// One term of a constraint's rate: a component of a point's or frame's velocity, or one velocity of
// a block.
struct ConstraintTerm {
  Attachment attachment;  // the block; its frame or nodes when `velocity` is negative
  int velocity = -1;      // velocity of the block
  double factor = 1;      // multiplies `velocity`
  Eigen::Vector3d linear_W = Eigen::Vector3d::Zero();   // multiplies the point's velocity
  Eigen::Vector3d angular_W = Eigen::Vector3d::Zero();  // multiplies the frame's angular velocity
};

// Origin of a constraint, for reports.
enum class ConstraintSource { kLimit, kDryFriction, kActuator, kConstraint, kSpring };

// One scalar constraint of a step, common to all methods: a spring, damper or stop on the rate
// r = Σ terms,
//   force = feedforward − k (g + h r) − d (r − r_target), within [lower, upper].
// Infinite k: as rigid as the method's conditioning allows (a holonomic constraint, or a stop when
// a bound is zero).
struct ConstraintRow {
  int first_term = 0, num_terms = 0;
  double error = 0;  // g at the start of the step [m], [rad]
  // maximum rate at which g is corrected, so that joints that start apart do not close in one step,
  // at a high speed [m/s], [rad/s]
  double recovery_rate = std::numeric_limits<double>::infinity();
  double stiffness = std::numeric_limits<double>::infinity();  // k [N/m], [N·m/rad]
  double damping = 0;                                          // d [N·s/m], [N·m·s/rad]
  double target_rate = 0;                                      // r_target
  double feedforward = 0;                                      // [N], [N·m]
  double lower = -std::numeric_limits<double>::infinity();     // [N], [N·m]
  double upper = std::numeric_limits<double>::infinity();
  bool dry_friction = false;  // holds r at zero like a sticking contact; k and d are ignored
  ConstraintSource source = ConstraintSource::kConstraint;
  // index of a velocity of its block, or of an actuator, constraint or body of the Model, by source
  int index = -1;
};

struct ConstraintSet {
  std::vector<ConstraintRow> rows;
  std::vector<ConstraintTerm> terms;

  void Clear() {
    rows.clear();
    terms.clear();
  }
  // Starts a row, to which terms appended afterwards belong.
  ConstraintRow& AddRow() {
    rows.emplace_back();
    rows.back().first_term = static_cast<int>(terms.size());
    return rows.back();
  }
  ConstraintTerm& AddTerm() {
    ++rows.back().num_terms;
    return terms.emplace_back();
  }
};

// Impulse of a constraint over a step.
struct ConstraintForce {
  ConstraintSource source = ConstraintSource::kConstraint;
  int block = -1;  // of its first term
  int index = -1;
  double error = 0;    // at the start of the step
  double impulse = 0;  // [N·s], [N·m·s]
  // for a constraint between two frames: its point of application on each, and the linear and
  // angular parts of a unit impulse on B (A receives the opposite)
  Eigen::Vector3d p_A = Eigen::Vector3d::Zero(), p_B = Eigen::Vector3d::Zero();
  Eigen::Vector3d linear_W = Eigen::Vector3d::Zero(), angular_W = Eigen::Vector3d::Zero();
};

}  // namespace pliant::physics
