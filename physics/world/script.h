#pragma once

#include <array>
#include <optional>

#include <Eigen/Core>

#include "physics/dynamics/model.h"

namespace pliant::physics {

// Samples of scripts for the step of length h [s] that ends at time t [s]. Linear between times,
// orientations along the shortest arc. At a jump (a repeated time) a step that ends there still
// gets the value before it, so that the impulse of a piecewise constant force is exact when its
// times are multiples of h; a time within 1e-6 h of t counts as t.

// Pose of a kinematic body; the first or last pose outside the script's times. Three numbers are a
// position, with the orientation of `X_WB0`; seven are a position and a quaternion (w, x, y, z).
RigidTransform SampleScriptedPose(const Script& script, const RigidTransform& X_WB0, double t,
                                  double h);

// Force [N] or torque [N·m] in W; nullopt outside the script's times.
std::optional<Eigen::Vector3d> SampleScriptedVector(const Script& script, double t, double h);

// Values of a joint's or controller's script, at most six, padded with zeros. Outside the script's
// times: the first or last value of a target, nullopt otherwise.
std::optional<std::array<double, 6>> SampleScriptedNumbers(const Script& script, bool is_target,
                                                           double t, double h);

// Shortest arc from a (s = 0) to b (s = 1). Unit quaternions; the same bits on every machine.
Eigen::Quaterniond Slerp(const Eigen::Quaterniond& a, const Eigen::Quaterniond& b, double s);

}  // namespace pliant::physics
