#pragma once

#include <string>

#include <Eigen/Core>

#include "physics/scene/robot_files/parts/xml_values.h"

namespace pliant::physics {

// Settings in an MJCF file's <compiler> for reading the rest. Several elements are merged; the last
// value wins.
struct MjcfSettings {
  bool degrees = true;
  bool global = false;  // poses are relative to the world, as in files of old versions
  std::string euler_sequence = "xyz";  // capitals: about fixed axes
  bool automatic_limits = true;        // a range alone makes a limit
  enum class InertiaFrom { kAutomatic, kGeoms, kFile };
  InertiaFrom inertia_from = InertiaFrom::kAutomatic;
  int first_inertia_group = 0, last_inertia_group = 5;
  double min_mass = 0;
  double min_inertia = 0;
  bool balance_inertia = false;
  double total_mass = -1;  // negative: as it comes
  bool strip_paths = false;
  std::string mesh_folder;

  void Read(const XmlElement& compiler, RobotLog* log);

  // An angle of the file in radians.
  double Radians(double angle) const;
};

// The rotation given by quat, axisangle, euler, xyaxes or zaxis of an element; identity when there
// is none.
Eigen::Matrix3d ReadMjcfRotation(const XmlElement& element, const MjcfSettings& settings,
                                 RobotLog* log);

// The pose given by pos and the rotation attributes above.
RigidTransform ReadMjcfPose(const XmlElement& element, const MjcfSettings& settings, RobotLog* log);

// Rotation from Euler angles in the file's unit and sequence.
Eigen::Matrix3d RotationFromEuler(const Eigen::Vector3d& angles, const MjcfSettings& settings);

// The smallest rotation that takes z to a direction of any length.
Eigen::Matrix3d RotationFromZ(const Eigen::Vector3d& direction);

}  // namespace pliant::physics
