#pragma once

#include <vector>

#include "physics/scene/robot_files/parts/robot_draft.h"

namespace pliant::physics {

// Poses of the links in the robot file's world with each joint at its initial position.
std::vector<RigidTransform> CalcLinkPoses(const std::vector<RobotLink>& links);

// Inertia that each joint of one velocity moves when all others are locked, at the initial
// positions: the diagonal of the mass matrix [kg·m²] or [kg]. 0 for other joints.
std::vector<double> CalcJointInertias(const std::vector<RobotLink>& links);

// Whether each link can move. Roots not attached to anything can, unless their base will be fixed.
std::vector<bool> FindMovingLinks(const std::vector<RobotLink>& links, bool fixed_base);

// Mass, centre and inertia of a link from its collision shapes, or its visual ones when it has
// none; mass from `density` [kg/m³] unless the link has one. False, and nothing changed, when they
// enclose no volume.
bool TakeInertiaFromShapes(double density, RobotLink* link);

// Checks that the links, parents first, can be simulated, and mends their inertia with warnings:
//
// * inertia that no body can have is replaced by the nearest that one can, or by that of the shapes
//   if the options ask for it; inertia without mass is left out
// * a joint that moves no mass, or no inertia, gets that of the shapes of what it moves, or of a
//   small ball. A root that is attached to nothing keeps none: its base may become fixed.
//
// Meshes that seem to be in millimetres are warnings.
void CheckLinks(const RobotFileOptions& options, RobotDraft* draft, RobotLog* log);

}  // namespace pliant::physics
