#include "physics/rigid/joint_laws.h"

#include <algorithm>
#include <cmath>

namespace pliant::physics {

std::vector<JointForceLaw> FindLaws(const JointTree& tree) {
  std::vector<JointForceLaw> laws;
  for (int i = 0; i < tree.num_velocities(); ++i) {
    const Joint& joint = tree.links()[tree.link_of_velocity(i)].joint;
    laws.push_back({joint.spring_stiffness, joint.damping});
  }
  return laws;
}

double CalcSpringError(const JointTree& tree, int link, int k, std::span<const double> q) {
  const Joint& joint = tree.links()[link].joint;
  const int start = tree.position_start(link);
  if (joint.type == JointType::kBall || joint.type == JointType::kFree) {
    if (k >= 3) return q[start + 4 + k - 3];
    return VectorFromRotation({q[start], q[start + 1], q[start + 2], q[start + 3]})[k];
  }
  return q[start + k] - joint.spring_rest;
}

double CalcSpringEnergy(const JointTree& tree, const std::vector<JointForceLaw>& laws,
                        std::span<const double> q) {
  double energy = 0;
  for (int i = 0; i < tree.num_velocities(); ++i) {
    if (!(laws[i].stiffness > 0)) continue;
    const int link = tree.link_of_velocity(i);
    const double error = CalcSpringError(tree, link, i - tree.velocity_start(link), q);
    energy += 0.5 * laws[i].stiffness * error * error;
  }
  return energy;
}

std::vector<JointStop> FindStops(const JointTree& tree) {
  std::vector<JointStop> stops;
  for (int i = 0; i < tree.num_velocities(); ++i) {
    const int link = tree.link_of_velocity(i);
    const Joint& joint = tree.links()[link].joint;
    JointStop stop{.velocity = i};
    if (CountVelocities(joint.type) == 1) {
      stop.position = tree.position_start(link);
      stop.lower = joint.lower;
      stop.upper = joint.upper;
    }
    stop.friction_loss = joint.friction_loss;
    if (stop.friction_loss > 0 || std::isfinite(stop.lower) || std::isfinite(stop.upper))
      stops.push_back(stop);
  }
  return stops;
}

ConstraintRow& AddVelocityRow(int block, int velocity, double factor, ConstraintSet* constraints) {
  ConstraintRow& row = constraints->AddRow();
  row.index = velocity;
  ConstraintTerm& term = constraints->AddTerm();
  term.attachment.block = block;
  term.velocity = velocity;
  term.factor = factor;
  return row;
}

void AppendStops(int block, std::span<const JointStop> stops, double h, std::span<const double> q0,
                 std::span<const double> v0, std::span<const double> v_star,
                 ConstraintSet* constraints) {
  for (const JointStop& stop : stops) {
    const int i = stop.velocity;
    if (stop.friction_loss > 0) {
      ConstraintRow& row = AddVelocityRow(block, i, 1, constraints);
      row.source = ConstraintSource::kDryFriction;
      row.dry_friction = true;
      row.lower = -stop.friction_loss;
      row.upper = stop.friction_loss;
    }
    // limits that could be reached in this step
    const double q = q0[stop.position];
    const double reach = 2 * h * std::max(std::abs(v0[i]), std::abs(v_star[i]));
    for (const double factor : {1.0, -1.0}) {
      const double error = factor > 0 ? q - stop.lower : stop.upper - q;
      if (error > reach) continue;
      ConstraintRow& row = AddVelocityRow(block, i, factor, constraints);
      row.source = ConstraintSource::kLimit;
      row.error = error;
      row.lower = 0;
    }
  }
}

}  // namespace pliant::physics
