#pragma once

#include <memory>
#include <string>

#include "physics/rigid/joint_tree_block.h"

namespace pliant::physics {

// A joint tree in maximal coordinates (macklin2019 §9.4): each moving link, with all links fixed to
// it, is a body of six velocities, and each joint is a set of rows between two bodies, in
// compliance form. Joints may drift apart by the errors that a step leaves in their rows.
//
// Positions: those of the JointTree, derived from the bodies, then the quaternion R_WB and p_WBcm
// of each body. Velocities: those of the JointTree, then ω_WB and v_WBcm of each body, one group a
// body. Frame i is link i. Joint springs, dampers, rotor inertias, limits and friction loss are
// rows.
//
// Only for trees that pass CheckMaximalTree, and for methods that take blocks in compliance form.
std::shared_ptr<const DynamicsBlock> MakeMaximalTreeBlock(JointTreeParameters parameters);

// Describes a part of the tree that maximal coordinates do not support, and the remedy: a body
// without mass or inertia, or a joint of an added type. Empty when all is supported.
std::string CheckMaximalTree(const JointTree& tree);

}  // namespace pliant::physics
