#pragma once

#include <memory>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/rigid/joint_tree.h"

namespace pliant::physics {

// A joint tree at its start. Positions and velocities are JointTree's; frame i is its link i; one
// group of velocities.
struct JointTreeParameters {
  std::shared_ptr<const JointTree> tree;
  std::vector<double> q, v;  // initial
};

// Joint springs, damping and rotor inertia are in A; limits and friction loss are constraints.
// Gyroscopic and other velocity-product forces are taken at the middle of the step when links turn
// freely (ball and free joints): explicit ones make momentum drift.
std::shared_ptr<const DynamicsBlock> MakeJointTreeBlock(JointTreeParameters parameters);

}  // namespace pliant::physics
