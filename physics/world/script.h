#pragma once

#include <array>
#include <optional>

#include <Eigen/Core>

#include "physics/dynamics/model.h"

namespace pliant::physics {

// What a script says for the step of length h [s] that ends at time t [s]. Linear between times,
// orientations along the shortest arc. At a jump (a repeated time) a step that ends there still
// gets the value before it, so that the impulse of a piecewise constant force is exact when its
// times are multiples of h; a time within 1e-6 h of t counts as t.

// Pose of a kinematic body: outside its times the first or the last. Three numbers are a position,
// the orientation stays that of `X_WB0`; seven are a position and a quaternion (w, x, y, z).
RigidTransform SampleScriptedPose(const Script& script, const RigidTransform& X_WB0, double t,
                                  double h);

// Force [N] or torque [N·m] in W; none outside its times.
std::optional<Eigen::Vector3d> SampleScriptedVector(const Script& script, double t, double h);

// Numbers of a joint's or controller's script, at most six, then zeros: outside its times the first
// or last of a target, none of others.
std::optional<std::array<double, 6>> SampleScriptedNumbers(const Script& script, bool is_target,
                                                           double t, double h);

// Shortest arc from a (s = 0) to b (s = 1). Unit quaternions; the same bits on every machine.
Eigen::Quaterniond Slerp(const Eigen::Quaterniond& a, const Eigen::Quaterniond& b, double s);

}  // namespace pliant::physics
