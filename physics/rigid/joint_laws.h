#pragma once

#include <limits>
#include <span>
#include <vector>

#include "physics/dynamics/constraint_row.h"
#include "physics/rigid/joint_tree.h"

namespace pliant::physics {

// What the joints' springs and dampers do to each velocity: force = −k e − d v.
struct JointForceLaw {
  double stiffness = 0, damping = 0;
};
std::vector<JointForceLaw> FindLaws(const JointTree& tree);

// How far the joint of `link` is from the rest of its spring, for its k-th velocity.
double CalcSpringError(const JointTree& tree, int link, int k, std::span<const double> q);
// What the springs hold [J].
double CalcSpringEnergy(const JointTree& tree, const std::vector<JointForceLaw>& laws,
                        std::span<const double> q);

// Where a joint stops, and what it takes to move it: of each velocity that has either.
struct JointStop {
  int velocity;
  int position = 0;
  double lower = -std::numeric_limits<double>::infinity(),
         upper = std::numeric_limits<double>::infinity();
  double friction_loss = 0;
};
std::vector<JointStop> FindStops(const JointTree& tree);

// A row on one velocity of a block.
ConstraintRow& AddVelocityRow(int block, int velocity, double factor, ConstraintSet* constraints);

// Dry friction, and the stops that could be met in a step from (q0, v0) that would lead to v_star.
void AppendStops(int block, std::span<const JointStop> stops, double h, std::span<const double> q0,
                 std::span<const double> v0, std::span<const double> v_star,
                 ConstraintSet* constraints);

}  // namespace pliant::physics
