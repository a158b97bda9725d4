#pragma once

#include <iosfwd>
#include <string>

#include "server/run/scene_arguments.h"

namespace pliant::server {

// Options of `pliantd dynamics`.
struct DynamicsOptions : SceneArguments {
  std::string
      states;  // file: a list of {robot, q, v, tau, a}, each of the last four {joint: value}
  std::string json = "-";  // file, "-" for `out`
};

// Kinematics and dynamics of a scene's robots by themselves, without contact, actuators, joint
// friction, damping, springs or limits, at given states. Omitted `q` and `v` are those of the
// scene's start, omitted `tau` and `a` are zero; `robot` may be omitted when there is only one. The
// value of a joint of several coordinates is a list (physics/rigid/joint_tree.h). The joint of a
// free base is called by the base's name if the file gives it no joint.
//
// Writes a list of {robot, joints, mass_matrix, bias, acceleration, link_poses, jacobians}, and
// `effort` where `a` is given, in the order of the states:
//   joints        names in the order of the velocities; name[0], name[1], … for a joint of several
//   mass_matrix   with rotor inertias
//   bias          Coriolis, centrifugal and gravity forces
//   acceleration  under `tau`
//   effort        required for the accelerations `a`
//   link_poses    {link: [x, y, z, qw, qx, qy, qz]}
//   jacobians     {link: 6 rows, of its angular velocity and the velocity of its origin in W}
// Returns an ExitStatus.
int CalcDynamics(const DynamicsOptions& options, std::ostream& out, std::ostream& err);

}  // namespace pliant::server
