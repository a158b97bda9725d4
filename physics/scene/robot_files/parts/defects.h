#pragma once

#include <string>

#include <Eigen/Core>

#include "physics/geometry/shape.h"
#include "physics/rigid/joint_tree.h"
#include "physics/scene/robot_files/parts/robot_log.h"
#include "physics/scene/robot_files/parts/xml_values.h"

namespace pliant::physics {

// Common defects of robot files, and their remedies.

// The inertia tensor of a mass distribution nearest to a symmetric tensor, by the Frobenius norm:
// its principal moments are projected onto the triangle inequalities.
Eigen::Matrix3d NearestInertia(const Eigen::Matrix3d& tensor);

// Whether a shape has a size of zero, so that it has no volume. A capsule without length is a
// sphere.
bool HasNoVolume(const Geometry& geometry);

// Leaves out a shape without volume: returns true, after a warning.
bool LeaveOutWithoutVolume(const Geometry& geometry, const FilePlace& place,
                           const std::string& what, RobotLog* log);

// Sets the limits of a joint. Swapped limits leave it free, with a warning.
void SetLimits(double lower, double upper, const FilePlace& place, const std::string& what,
               Joint* joint, RobotLog* log);

// Reads a bound on a joint's effort, velocity or acceleration; a negative one counts as none, with
// a warning.
double ReadBound(double given, const FilePlace& place, const std::string& what, RobotLog* log);

// Reads a coefficient of restitution; returns whether there is a valid one. One above 1 is taken as
// 1, with a warning.
bool ReadRestitution(const XmlValue& value, double* restitution, RobotLog* log);

// Reads the stiffness of a contact [N/m]. One so large that files write it for "rigid" counts as
// not given.
void ReadContactStiffness(const XmlValue& value, double* stiffness, RobotLog* log);

}  // namespace pliant::physics
