#include "physics/rigid/tree_articulation.h"

#include "physics/rigid/tree_kinematics.h"

namespace pliant::physics {
namespace {

TreeKinematics PlaceAt(const JointTree& tree, std::span<const double> q) {
  TreeKinematics kinematics(tree);
  tree.CalcPositions(q, &kinematics);
  return kinematics;
}

TreeKinematics MoveAt(const JointTree& tree, std::span<const double> q, std::span<const double> v) {
  TreeKinematics kinematics = PlaceAt(tree, q);
  tree.CalcVelocities(v, &kinematics);
  return kinematics;
}

}  // namespace

std::vector<ArticulationJoint> TreeArticulation::DescribeJoints() const {
  std::vector<ArticulationJoint> joints;
  for (int k = 0; k < tree_->num_links(); ++k) {
    const Link& link = tree_->links()[k];
    const JointType type = link.joint.type;
    if (CountVelocities(type) == 0) continue;
    joints.push_back({link.joint.name, link.name, tree_->position_start(k), CountPositions(type),
                      tree_->velocity_start(k), CountVelocities(type),
                      type == JointType::kBall || type == JointType::kFree});
  }
  return joints;
}

void TreeArticulation::CalcLinkPoses(std::span<const double> q,
                                     std::span<RigidTransform> poses) const {
  const TreeKinematics kinematics = PlaceAt(*tree_, q);
  for (int k = 0; k < tree_->num_links(); ++k) poses[k] = kinematics.link_pose(k);
}

void TreeArticulation::CalcJacobian(std::span<const double> q, int link,
                                    std::span<double> J) const {
  const TreeKinematics kinematics = PlaceAt(*tree_, q);
  tree_->CalcJacobian(kinematics, link, kinematics.link_pose(link).p, J);
}

void TreeArticulation::CalcMassMatrix(std::span<const double> q, std::span<double> M) const {
  tree_->CalcMassMatrix(PlaceAt(*tree_, q), M);
}

void TreeArticulation::CalcBias(std::span<const double> q, std::span<const double> v,
                                const Eigen::Vector3d& gravity, std::span<double> tau) const {
  tree_->CalcBias(MoveAt(*tree_, q, v), gravity, tau);
}

void TreeArticulation::CalcForwardDynamics(std::span<const double> q, std::span<const double> v,
                                           std::span<const double> tau,
                                           const Eigen::Vector3d& gravity,
                                           std::span<double> vdot) const {
  TreeKinematics kinematics = MoveAt(*tree_, q, v);
  tree_->CalcForwardDynamics(&kinematics, gravity, tau, vdot);
}

void TreeArticulation::CalcInverseDynamics(std::span<const double> q, std::span<const double> v,
                                           std::span<const double> vdot,
                                           const Eigen::Vector3d& gravity,
                                           std::span<double> tau) const {
  TreeKinematics kinematics = MoveAt(*tree_, q, v);
  tree_->CalcInverseDynamics(&kinematics, gravity, vdot, tau);
}

}  // namespace pliant::physics
