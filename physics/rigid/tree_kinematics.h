#pragma once

#include <vector>

#include <Eigen/Core>

#include "physics/rigid/joint_tree.h"
#include "physics/spatial/rigid_transform.h"
#include "physics/spatial/spatial_vector.h"

namespace pliant::physics {

// What a JointTree computed at one configuration and velocity. All memory is taken when it is made. Positions are told
// from the reference point O, and spatial vectors about No, the place of each node: what is near stays exact, however
// far the root.
class TreeKinematics {
 public:
  explicit TreeKinematics(const JointTree& tree);

  // Pose of a link, after CalcPositions.
  RigidTransform link_pose(int link) const {
    return {link_poses_[link].R, link_poses_[link].p + p_WO_};
  }

  // Of a link, and of the point p_W that moves with it; in W, after CalcVelocities.
  const Eigen::Vector3d& angular_velocity(int link) const { return velocity(link).angular; }
  Eigen::Vector3d CalcPointVelocity(int link, const Eigen::Vector3d& p_W) const {
    if (link_node_[link] < 0) return Eigen::Vector3d::Zero();
    const Body& body = bodies_[link_node_[link]];
    return body.velocity.linear + body.velocity.angular.cross(p_W - p_WO_ - body.p);
  }

 private:
  friend class JointTree;

  struct Body {
    Eigen::Matrix3d R;         // R_WN
    Eigen::Vector3d p;         // from O to No
    Eigen::Vector3d r;         // from the parent's No (O for roots) to No
    SpatialInertia inertia;    // its own
    SpatialInertia composite;  // with all that it carries
    SpatialVector velocity;
    SpatialVector bias_acceleration;  // at v̇ = 0 without gravity
    SpatialVector bias_force;         // that takes, of all that it carries
  };
  // Articulated inertia [J H; Hᵀ M] and the force that holds the axes at their efforts, while forward dynamics run.
  struct Articulated {
    Eigen::Matrix3d J, H, M;
    SpatialVector force;
  };
  struct Pivot {
    SpatialVector column;  // articulated inertia times axis
    double inverse = 0;    // of the inertia that the velocity feels
    double effort = 0;     // τ less what the nodes beyond take
  };

  const SpatialVector& velocity(int link) const {
    return link_node_[link] < 0 ? at_rest_ : bodies_[link_node_[link]].velocity;
  }

  // Motion per unit of a velocity, about O and about its node's No.
  SpatialVector axis(int dof) const { return Rows(dof, 0, 3); }
  SpatialVector own_axis(int dof) const { return Rows(dof, 0, 6); }
  SpatialVector Rows(int dof, int angular, int linear) const {
    const double* a = axes_.data() + angular * stride_ + dof;
    const double* s = axes_.data() + linear * stride_ + dof;
    return {{a[0], a[stride_], a[2 * stride_]}, {s[0], s[stride_], s[2 * stride_]}};
  }
  void SetAxis(int dof, const Eigen::Vector3d& p, const Eigen::Vector3d& angular,
               const Eigen::Vector3d& linear) {
    double* s = axes_.data() + dof;
    const Eigen::Vector3d linear_O = p.cross(angular) + linear;
    for (int k = 0; k < 3; ++k) {
      s[k * stride_] = angular[k];
      s[(3 + k) * stride_] = linear_O[k];
      s[(6 + k) * stride_] = linear[k];
    }
  }

  Eigen::Vector3d p_WO_ = Eigen::Vector3d::Zero();
  std::vector<Body> bodies_;
  // Motion of the tree per unit of each velocity: angular, linear about O, linear about No. Nine rows of `stride_`
  // numbers, which leaves lanes of zeros at their ends.
  int stride_ = 0;
  std::vector<double> axes_;
  std::vector<RigidTransform> link_poses_;  // from O, in world axes
  std::vector<int> link_node_;
  SpatialVector at_rest_;

  // room for one call
  std::vector<Articulated> articulated_;
  std::vector<Pivot> pivots_;
  std::vector<SpatialVector> accelerations_;  // of nodes
  std::vector<SpatialVector> forces_;         // of nodes, or of links for reactions
};

}  // namespace pliant::physics
