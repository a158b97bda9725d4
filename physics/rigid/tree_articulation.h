#pragma once

#include <memory>
#include <utility>

#include "physics/dynamics/abilities/articulation.h"
#include "physics/rigid/joint_tree.h"

namespace pliant::physics {

// A joint tree as an Articulation. Each call recomputes the kinematics it needs.
class TreeArticulation final : public Articulation {
 public:
  explicit TreeArticulation(std::shared_ptr<const JointTree> tree) : tree_(std::move(tree)) {}

  const JointTree& tree() const { return *tree_; }

  int num_links() const override { return tree_->num_links(); }
  int num_positions() const override { return tree_->num_positions(); }
  int num_velocities() const override { return tree_->num_velocities(); }
  int parent(int link) const override { return tree_->links()[link].parent; }
  std::vector<ArticulationJoint> DescribeJoints() const override;
  void CalcLinkPoses(std::span<const double> q, std::span<RigidTransform> poses) const override;
  void CalcJacobian(std::span<const double> q, int link, std::span<double> J) const override;
  void CalcMassMatrix(std::span<const double> q, std::span<double> M) const override;
  void CalcBias(std::span<const double> q, std::span<const double> v,
                const Eigen::Vector3d& gravity, std::span<double> tau) const override;
  void CalcForwardDynamics(std::span<const double> q, std::span<const double> v,
                           std::span<const double> tau, const Eigen::Vector3d& gravity,
                           std::span<double> vdot) const override;
  void CalcInverseDynamics(std::span<const double> q, std::span<const double> v,
                           std::span<const double> vdot, const Eigen::Vector3d& gravity,
                           std::span<double> tau) const override;

 private:
  std::shared_ptr<const JointTree> tree_;
};

}  // namespace pliant::physics
