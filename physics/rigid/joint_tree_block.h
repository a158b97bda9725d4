#pragma once

#include <memory>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/rigid/joint_tree.h"

namespace pliant::physics {

// A joint tree and its initial state. Positions and velocities are those of JointTree; frame i is
// link i. The velocities form one group.
struct JointTreeParameters {
  std::shared_ptr<const JointTree> tree;
  std::vector<double> q, v;  // initial
};

// Joint springs, damping and rotor inertia are in A; limits and friction loss are constraints. With
// ball or free joints, gyroscopic and other velocity-product forces are evaluated at the middle of
// the step, because explicit ones make momentum drift.
std::shared_ptr<const DynamicsBlock> MakeJointTreeBlock(JointTreeParameters parameters);

}  // namespace pliant::physics
