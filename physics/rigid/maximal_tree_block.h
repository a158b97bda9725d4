#pragma once

#include <memory>
#include <string>

#include "physics/rigid/joint_tree_block.h"

namespace pliant::physics {

// A joint tree in maximal coordinates (macklin2019 §9.4): each link that a joint moves, with all
// that is fixed on it, is a body of six velocities, and each joint is a set of rows between two of
// them, in compliance form. Joints may drift apart, by what a step leaves of their rows' errors.
//
// Positions: those of the JointTree, read off the bodies, then of each body its quaternion R_WB and
// p_WBcm. Velocities: those of the JointTree, then ω_WB and v_WBcm of each body, which are a group
// each. Frame i is link i. Joint springs and dampers and rotor inertias are rows, as limits and
// friction loss are.
//
// Only for what CheckMaximalTree passes, and for methods that take blocks in compliance form.
std::shared_ptr<const DynamicsBlock> MakeMaximalTreeBlock(JointTreeParameters parameters);

// What of the tree maximal coordinates can not have, and the mend: a body without mass or inertia,
// or a joint of a kind that was added to those of JointType. Empty when there is nothing.
std::string CheckMaximalTree(const JointTree& tree);

}  // namespace pliant::physics
