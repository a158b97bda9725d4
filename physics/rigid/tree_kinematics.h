#pragma once

#include <vector>

#include <Eigen/Core>

#include "physics/rigid/joint_tree.h"
#include "physics/spatial/rigid_transform.h"
#include "physics/spatial/spatial_vector.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {

// Results of a JointTree at one configuration and velocity. All memory is allocated at
// construction. Positions are relative to the reference point O, and spatial vectors are about each
// node's origin No, so precision does not suffer far from the root.
class TreeKinematics {
 public:
  explicit TreeKinematics(const JointTree& tree);

  // Pose of a link, after CalcPositions.
  RigidTransform link_pose(int link) const {
    const Pose& X = link_poses_[link];
    return {ToMatrix(X.R), ToVector(X.p) + p_WO_};
  }

  // Angular velocity of a link, and velocity of the point p_W that moves with it; in W, after
  // CalcVelocities.
  Eigen::Vector3d angular_velocity(int link) const {
    const int node = link_node_[link];
    return node < 0 ? Eigen::Vector3d::Zero() : ToVector(bodies_[node].velocity.angular);
  }
  Eigen::Vector3d CalcPointVelocity(int link, const Eigen::Vector3d& p_W) const {
    if (link_node_[link] < 0) return Eigen::Vector3d::Zero();
    const Body& body = bodies_[link_node_[link]];
    return ToVector(MoveMotion(body.velocity, ToLanes(p_W - p_WO_) - body.p).linear);
  }

 private:
  friend class JointTree;

  struct Pose {
    LaneMatrix R;
    Lanes p;  // from O
  };
  struct Body {
    LaneMatrix R;              // R_WN
    Lanes p;                   // from O to No
    Lanes r;                   // from the parent's No (O for roots) to No
    SpatialInertia inertia;    // its own
    SpatialInertia composite;  // of its subtree
    SpatialVector velocity;
    SpatialVector bias_acceleration;  // at v̇ = 0 without gravity
    SpatialVector bias_force;         // for that acceleration, of its subtree
  };
  // Articulated inertia [J H; Hᵀ M] and bias force, used by forward dynamics.
  struct Articulated {
    LaneMatrix J, H, M;
    SpatialVector force;
  };
  struct Pivot {
    SpatialVector column;  // articulated inertia times axis
    double inverse = 0;    // of the axis's articulated inertia, rotor included
    double effort = 0;     // τ minus the bias effort of the subtree
  };

  // Motion per unit of a velocity, about O and about its node's No.
  SpatialVector axis(int dof) const { return {Column(dof, 0), Column(dof, 3)}; }
  const SpatialVector& own_axis(int dof) const { return own_axes_[dof]; }
  Lanes Column(int dof, int row) const {
    const double* s = axes_.data() + row * stride_ + dof;
    return Lanes{s[0], s[stride_], s[2 * stride_], 0};
  }
  void SetAxis(int dof, Lanes p, const SpatialVector& own_axis) {
    own_axes_[dof] = own_axis;
    const Lanes linear = Cross(p, own_axis.angular) + own_axis.linear;
    double* s = axes_.data() + dof;
    for (int k = 0; k < 3; ++k) {
      s[k * stride_] = own_axis.angular[k];
      s[(3 + k) * stride_] = linear[k];
    }
  }

  Eigen::Vector3d p_WO_ = Eigen::Vector3d::Zero();
  std::vector<Body> bodies_;
  std::vector<SpatialVector> own_axes_;
  // Axes about O, one row for each of the six components, `stride_` apart and padded with zeros to
  // whole lanes.
  int stride_ = 0;
  std::vector<double> axes_;
  std::vector<Pose> link_poses_;
  std::vector<int> link_node_;

  // room for one call
  std::vector<double> angles_;  // of the nodes that turn
  std::vector<SinCos> sin_cos_;
  std::vector<Articulated> articulated_;
  std::vector<Pivot> pivots_;
  std::vector<SpatialVector> accelerations_;  // of nodes
  std::vector<SpatialVector> forces_;         // of nodes, or of links for reactions
};

}  // namespace pliant::physics
