// The dynamics of a joint tree: composite rigid bodies, recursive Newton–Euler and articulated bodies (Featherstone,
// Rigid Body Dynamics Algorithms, chapters 5–7).

#include <algorithm>

#include "physics/rigid/joint_tree.h"
#include "physics/rigid/tree_kinematics.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Of gravity, about the inertia's own point.
SpatialVector Weigh(const SpatialInertia& inertia, const Vector3d& gravity) {
  return {inertia.first.cross(gravity), inertia.mass * gravity};
}

}  // namespace

void JointTree::CalcMassMatrix(const TreeKinematics& kinematics, std::span<double> M) const {
  using Lanes = Eigen::Array4d;
  const int n = num_velocities_;
  const int stride = kinematics.stride_;
  std::fill(M.begin(), M.begin() + n * n, 0);

  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const TreeKinematics::Body& body = kinematics.bodies_[i];
    const int last = node.velocity + CountAxes(node.type);
    for (int d = node.velocity; d < last; ++d) {
      // the force that moves all that the node carries along its axis works on every axis before it
      const SpatialVector F = MoveForce(body.composite * kinematics.own_axis(d), body.p);
      for (int end = d; end >= 0; end = parent_velocity_[run_start_[end]]) {
        for (int first = run_start_[end]; first <= end; first += 4) {
          const double* axes = kinematics.axes_.data() + first;
          Lanes work = Eigen::Map<const Lanes>(axes) * F.angular[0];
          work += Eigen::Map<const Lanes>(axes + stride) * F.angular[1];
          work += Eigen::Map<const Lanes>(axes + 2 * stride) * F.angular[2];
          work += Eigen::Map<const Lanes>(axes + 3 * stride) * F.linear[0];
          work += Eigen::Map<const Lanes>(axes + 4 * stride) * F.linear[1];
          work += Eigen::Map<const Lanes>(axes + 5 * stride) * F.linear[2];
          const int lanes = std::min(4, end - first + 1);
          for (int k = 0; k < lanes; ++k) {
            M[d * n + first + k] = work[k];
            M[(first + k) * n + d] = work[k];
          }
        }
      }
      M[d * n + d] += reflected_inertia_[d];
    }
  }
}

void JointTree::CalcBias(const TreeKinematics& kinematics, const Vector3d& gravity,
                         std::span<double> tau) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const TreeKinematics::Body& body = kinematics.bodies_[i];
    const SpatialVector force = body.bias_force - Weigh(body.composite, gravity);
    const int last = node.velocity + CountAxes(node.type);
    for (int d = node.velocity; d < last; ++d) tau[d] = Dot(kinematics.own_axis(d), force);
  }
}

void JointTree::CalcAccelerations(std::span<const double> vdot, TreeKinematics* kinematics) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    SpatialVector& A = kinematics->accelerations_[i];
    A = {};
    if (vdot.empty()) continue;
    if (node.parent >= 0)
      A = MoveMotion(kinematics->accelerations_[node.parent], kinematics->bodies_[i].r);
    const int last = node.velocity + CountAxes(node.type);
    for (int d = node.velocity; d < last; ++d) A += vdot[d] * kinematics->own_axis(d);
  }
}

void JointTree::CalcInverseDynamics(TreeKinematics* kinematics, const Vector3d& gravity,
                                    std::span<const double> vdot, std::span<double> tau) const {
  CalcBias(*kinematics, gravity, tau);
  if (vdot.empty()) return;

  // τ is linear in v̇: what v̇ adds needs no velocities
  CalcAccelerations(vdot, kinematics);
  const int count = static_cast<int>(nodes_.size());
  SpatialVector* forces = kinematics->forces_.data();
  for (int i = 0; i < count; ++i)
    forces[i] = kinematics->bodies_[i].inertia * kinematics->accelerations_[i];
  for (int i = count - 1; i >= 0; --i) {
    const Node& node = nodes_[i];
    const int last = node.velocity + CountAxes(node.type);
    for (int d = node.velocity; d < last; ++d)
      tau[d] += Dot(kinematics->own_axis(d), forces[i]) + reflected_inertia_[d] * vdot[d];
    if (node.parent >= 0) forces[node.parent] += MoveForce(forces[i], kinematics->bodies_[i].r);
  }
}

void JointTree::CalcForwardDynamics(TreeKinematics* kinematics, const Vector3d& gravity,
                                    std::span<const double> tau, std::span<double> vdot) const {
  using Articulated = TreeKinematics::Articulated;
  using Pivot = TreeKinematics::Pivot;
  const int count = static_cast<int>(nodes_.size());

  // M v̇ = τ − bias: a tree at rest without gravity
  CalcBias(*kinematics, gravity, vdot);
  for (int i = 0; i < count; ++i) {
    const SpatialInertia& inertia = kinematics->bodies_[i].inertia;
    Articulated& a = kinematics->articulated_[i];
    a.J = inertia.rotational();
    a.H = CrossMatrix(inertia.first);
    a.M = inertia.mass * Matrix3d::Identity();
    a.force = {};
  }

  // towards the root: what the rest of the tree feels of each node, its axes free to move
  for (int i = count - 1; i >= 0; --i) {
    const Node& node = nodes_[i];
    Articulated& a = kinematics->articulated_[i];
    for (int d = node.velocity + CountAxes(node.type) - 1; d >= node.velocity; --d) {
      const SpatialVector S = kinematics->own_axis(d);
      Pivot& pivot = kinematics->pivots_[d];
      const SpatialVector U{a.J * S.angular + a.H * S.linear,
                            a.H.transpose() * S.angular + a.M * S.linear};
      pivot.column = U;
      pivot.inverse = 1 / (Dot(S, U) + reflected_inertia_[d]);
      pivot.effort = tau[d] - vdot[d] - Dot(S, a.force);
      const SpatialVector share = pivot.inverse * U;
      a.J.noalias() -= share.angular * U.angular.transpose();
      a.H.noalias() -= share.angular * U.linear.transpose();
      a.M.noalias() -= share.linear * U.linear.transpose();
      a.force += pivot.effort * share;
    }
    if (node.parent < 0) continue;
    Articulated& parent = kinematics->articulated_[node.parent];
    const Matrix3d r = CrossMatrix(kinematics->bodies_[i].r);
    const Matrix3d H = a.H + r * a.M;
    parent.J += a.J - a.H * r + r * H.transpose();
    parent.H += H;
    parent.M += a.M;
    parent.force += MoveForce(a.force, kinematics->bodies_[i].r);
  }

  // and back with the accelerations
  for (int i = 0; i < count; ++i) {
    const Node& node = nodes_[i];
    SpatialVector A;
    if (node.parent >= 0)
      A = MoveMotion(kinematics->accelerations_[node.parent], kinematics->bodies_[i].r);
    const int last = node.velocity + CountAxes(node.type);
    for (int d = node.velocity; d < last; ++d) {
      const Pivot& pivot = kinematics->pivots_[d];
      vdot[d] = pivot.inverse * (pivot.effort - Dot(pivot.column, A));
      A += vdot[d] * kinematics->own_axis(d);
    }
    kinematics->accelerations_[i] = A;
  }
}

void JointTree::CalcReactions(TreeKinematics* kinematics, const Vector3d& gravity,
                              std::span<const double> vdot, std::span<const LinkWrench> wrenches,
                              std::span<double> reactions) const {
  CalcAccelerations(vdot, kinematics);

  // what each link needs to move as it does, about its own Mo
  SpatialVector* forces = kinematics->forces_.data();
  const auto joint_place = [&](int link) -> Vector3d {
    return kinematics->link_poses_[link] * links_[link].joint.X_BM.p;
  };
  for (int i = 0; i < num_links(); ++i) {
    const Link& link = links_[i];
    const RigidTransform& X = kinematics->link_poses_[i];
    const Vector3d p_OBcm = X * link.p_BoBcm;
    SpatialVector force{Vector3d::Zero(), -link.mass * gravity};
    if (link_node_[i] >= 0) {
      const TreeKinematics::Body& body = kinematics->bodies_[link_node_[i]];
      const SpatialVector A = body.bias_acceleration + kinematics->accelerations_[link_node_[i]];
      const Vector3d& w = body.velocity.angular;
      const Vector3d from_No = p_OBcm - body.p;
      const Matrix3d inertia = X.R * link.inertia * X.R.transpose();
      force.linear += link.mass * (A.linear + A.angular.cross(from_No) + w.cross(w.cross(from_No)));
      force.angular = inertia * A.angular + w.cross(inertia * w);
    }
    forces[i] = MoveForce(force, p_OBcm - joint_place(i));
  }
  for (const LinkWrench& wrench : wrenches) {
    const Vector3d p_OP = wrench.p_W - kinematics->p_WO_;
    forces[wrench.link] -=
        MoveForce({wrench.torque_W, wrench.force_W}, p_OP - joint_place(wrench.link));
  }

  // a link's joint carries the link and all that hangs on it
  for (int i = num_links() - 1; i >= 0; --i) {
    const int parent = links_[i].parent;
    if (parent >= 0) forces[parent] += MoveForce(forces[i], joint_place(i) - joint_place(parent));
    Eigen::Map<Vector3d>(reactions.data() + 6 * i) = forces[i].angular;
    Eigen::Map<Vector3d>(reactions.data() + 6 * i + 3) = forces[i].linear;
  }
}

}  // namespace pliant::physics
