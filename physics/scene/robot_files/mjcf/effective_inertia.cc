#include <algorithm>
#include <cmath>
#include <utility>

#include "physics/rigid/joint_tree.h"
#include "physics/rigid/tree_kinematics.h"
#include "physics/scene/robot_files/mjcf/mjcf_model.h"
#include "physics/scene/robot_files/parts/link_checks.h"

namespace pliant::physics {
namespace {

constexpr double kMaxWork = 1e8;  // visits of links

}  // namespace

std::vector<double> CalcEffectiveInertias(const std::vector<RobotLink>& links,
                                          const std::vector<int>& wanted) {
  const std::vector<double> locked = CalcJointInertias(links);
  std::vector<double> inertias;
  for (const int link : wanted) inertias.push_back(locked[link]);
  if (static_cast<double>(links.size()) * static_cast<double>(wanted.size()) > kMaxWork)
    return inertias;

  std::vector<Link> nodes;
  for (const RobotLink& link : links) {
    Link node;
    node.parent = link.parent;
    node.joint = link.joint;
    node.mass = link.mass;
    node.p_BoBcm = link.p_BoBcm;
    node.inertia = link.inertia;
    nodes.push_back(std::move(node));
  }
  const JointTree tree(std::move(nodes));
  std::vector<double> q(tree.num_positions()), v(tree.num_velocities(), 0.0), tau(v), vdot(v);
  tree.SetZero(q);
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (CountVelocities(links[i].joint.type) == 1)
      q[tree.position_start(static_cast<int>(i))] = links[i].initial_position;
  }
  TreeKinematics kinematics(tree);
  tree.CalcPositions(q, &kinematics);
  tree.CalcVelocities(v, &kinematics);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    // apply a unit effort with all other joints free
    const int dof = tree.velocity_start(wanted[k]);
    tau[dof] = 1;
    tree.CalcForwardDynamics(&kinematics, Eigen::Vector3d::Zero(), tau, vdot);
    tau[dof] = 0;
    const double inertia = 1 / vdot[dof];
    // trees that lack inertia are refused later
    if (std::isfinite(inertia) && inertia > 0) inertias[k] = inertia;
  }
  return inertias;
}

}  // namespace pliant::physics
