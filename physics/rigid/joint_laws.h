#pragma once

#include <limits>
#include <span>
#include <vector>

#include "physics/dynamics/constraint_row.h"
#include "physics/rigid/joint_tree.h"

namespace pliant::physics {

// Spring and damper law of each joint velocity: force = −k e − d v.
struct JointForceLaw {
  double stiffness = 0, damping = 0;
};
std::vector<JointForceLaw> FindLaws(const JointTree& tree);

// Deviation of the joint of `link` from the rest position of its spring, for its k-th velocity.
double CalcSpringError(const JointTree& tree, int link, int k, std::span<const double> q);
// Potential energy of the springs [J].
double CalcSpringEnergy(const JointTree& tree, const std::vector<JointForceLaw>& laws,
                        std::span<const double> q);

// Limits and dry friction of one joint velocity, for each velocity that has either.
struct JointStop {
  int velocity;
  int position = 0;
  double lower = -std::numeric_limits<double>::infinity(),
         upper = std::numeric_limits<double>::infinity();
  double friction_loss = 0;
};
std::vector<JointStop> FindStops(const JointTree& tree);

// Adds a constraint row on one velocity of a block.
ConstraintRow& AddVelocityRow(int block, int velocity, double factor, ConstraintSet* constraints);

// Appends rows for dry friction, and for the limits that could be reached in a step from (q0, v0)
// with predicted velocities v_star.
void AppendStops(int block, std::span<const JointStop> stops, double h, std::span<const double> q0,
                 std::span<const double> v0, std::span<const double> v_star,
                 ConstraintSet* constraints);

}  // namespace pliant::physics
