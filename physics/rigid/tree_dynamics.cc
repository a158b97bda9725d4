// The dynamics of a joint tree: composite rigid bodies, recursive Newton–Euler and articulated
// bodies (Featherstone, Rigid Body Dynamics Algorithms, chapters 5–7).

#include <algorithm>
#include <cstring>

#include "physics/rigid/joint_tree.h"
#include "physics/rigid/tree_kinematics.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Weight of the inertia, about its own reference point.
SpatialVector Weigh(const SpatialInertia& inertia, Lanes gravity) {
  return {Cross(inertia.first, gravity), inertia.mass * gravity};
}

LaneMatrix CrossLanes(Lanes r) {
  return {{Lanes{0, r[2], -r[1], 0}, Lanes{-r[2], 0, r[0], 0}, Lanes{r[1], -r[0], 0, 0}}};
}

Lanes Load(const double* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

// Stores the first `left` lanes, at most four.
void Store(Lanes lanes, int left, double* to) {
  if (left >= 4) {
    std::memcpy(to, &lanes, sizeof lanes);
  } else {
    to[0] = lanes[0];
    if (left >= 2) to[1] = lanes[1];
    if (left == 3) to[2] = lanes[2];
  }
}

// Aᵀ v
Lanes MultiplyByTranspose(const LaneMatrix& A, Lanes v) {
  return Lanes{Dot(A.columns[0], v), Dot(A.columns[1], v), Dot(A.columns[2], v), 0};
}

// A − a bᵀ
void SubtractOuter(Lanes a, Lanes b, LaneMatrix* A) {
  A->columns[0] -= a * Splat<0>(b);
  A->columns[1] -= a * Splat<1>(b);
  A->columns[2] -= a * Splat<2>(b);
}

}  // namespace

void JointTree::CalcMassMatrix(const TreeKinematics& kinematics, std::span<double> M) const {
  const int n = num_velocities_;
  const int stride = kinematics.stride_;

  // upper triangle, column by column
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const TreeKinematics::Body& body = kinematics.bodies_[i];
    const int last = node.velocity + CountAxes(node.type);
    for (int d = node.velocity; d < last; ++d) {
      // the force that accelerates the composite body along this axis, projected on all axes before
      // it
      const SpatialVector F = MoveForce(body.composite * kinematics.own_axis(d), body.p);
      double* column = M.data() + d * n;
      std::fill(column, column + d, 0);
      for (int end = d; end >= 0; end = parent_velocity_[run_start_[end]]) {
        for (int first = run_start_[end]; first <= end; first += 4) {
          const double* axes = kinematics.axes_.data() + first;
          const Lanes work = Load(axes) * Splat<0>(F.angular) +
                             Load(axes + stride) * Splat<1>(F.angular) +
                             Load(axes + 2 * stride) * Splat<2>(F.angular) +
                             Load(axes + 3 * stride) * Splat<0>(F.linear) +
                             Load(axes + 4 * stride) * Splat<1>(F.linear) +
                             Load(axes + 5 * stride) * Splat<2>(F.linear);
          Store(work, end - first + 1, column + first);
        }
      }
      column[d] += reflected_inertia_[d];
    }
  }
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < j; ++i) M[i * n + j] = M[j * n + i];
  }
}

void JointTree::CalcBias(const TreeKinematics& kinematics, const Vector3d& gravity,
                         std::span<double> tau) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const TreeKinematics::Body& body = kinematics.bodies_[i];
    const SpatialVector force = body.bias_force - Weigh(body.composite, ToLanes(gravity));
    const int last = node.velocity + CountAxes(node.type);
    for (int d = node.velocity; d < last; ++d) tau[d] = Dot(kinematics.own_axis(d), force);
  }
  if (!lightened_.empty()) RemoveWeights(kinematics, gravity, tau);
}

void JointTree::RemoveWeights(const TreeKinematics& kinematics, const Vector3d& gravity,
                              std::span<double> tau) const {
  for (const int i : lightened_) {
    const Link& link = links_[i];
    AddWrench(kinematics, i, kinematics.link_pose(i) * link.p_BoBcm, Vector3d::Zero(),
              (1 - link.gravity_scale) * link.mass * gravity, tau);
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

  // τ is linear in v̇, and the term in v̇ does not depend on velocities
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

  // M v̇ = τ − bias, as for a tree at rest without gravity
  CalcBias(*kinematics, gravity, vdot);
  for (int i = 0; i < count; ++i) {
    const SpatialInertia& inertia = kinematics->bodies_[i].inertia;
    Articulated& a = kinematics->articulated_[i];
    a.J = inertia.rotational;
    a.H = CrossLanes(inertia.first);
    a.M = {{Lanes{inertia.mass}, Lanes{0, inertia.mass}, Lanes{0, 0, inertia.mass}}};
    a.force = {};
  }

  // inwards: articulated inertia and force of each node
  for (int i = count - 1; i >= 0; --i) {
    const Node& node = nodes_[i];
    Articulated& a = kinematics->articulated_[i];
    for (int d = node.velocity + CountAxes(node.type) - 1; d >= node.velocity; --d) {
      const SpatialVector S = kinematics->own_axis(d);
      Pivot& pivot = kinematics->pivots_[d];
      const SpatialVector U{a.J * S.angular + a.H * S.linear,
                            MultiplyByTranspose(a.H, S.angular) + a.M * S.linear};
      pivot.column = U;
      pivot.inverse = 1 / (Dot(S, U) + reflected_inertia_[d]);
      pivot.effort = tau[d] - vdot[d] - Dot(S, a.force);
      const SpatialVector share = pivot.inverse * U;
      SubtractOuter(share.angular, U.angular, &a.J);
      SubtractOuter(share.angular, U.linear, &a.H);
      SubtractOuter(share.linear, U.linear, &a.M);
      a.force += pivot.effort * share;
    }
    if (node.parent < 0) continue;
    Articulated& parent = kinematics->articulated_[node.parent];
    // J about the parent's No is J − H [r] + [r] H′ᵀ, with H′ about the same point
    const Lanes r = kinematics->bodies_[i].r;
    const LaneMatrix cross = CrossLanes(r);
    LaneMatrix H = a.H;
    for (int k = 0; k < 3; ++k) {
      H.columns[k] += Cross(r, a.M.columns[k]);
      a.J.columns[k] -= a.H * cross.columns[k];
    }
    const LaneMatrix rH = MultiplyTransposed(cross, H);
    parent.J += a.J;
    parent.J += rH;
    parent.H += H;
    parent.M += a.M;
    parent.force += MoveForce(a.force, kinematics->bodies_[i].r);
  }

  // outwards: accelerations
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

  // force required by the motion of each link, about its own Mo
  SpatialVector* forces = kinematics->forces_.data();
  const auto joint_place = [&](int link) {
    const TreeKinematics::Pose& X = kinematics->link_poses_[link];
    return X.R * links_[link].joint.X_BM.p + X.p;
  };
  for (int i = 0; i < num_links(); ++i) {
    const Link& link = links_[i];
    const TreeKinematics::Pose& X = kinematics->link_poses_[i];
    const Lanes p_OBcm = X.R * link.p_BoBcm + X.p;
    SpatialVector force{Lanes{}, -link.mass * link.gravity_scale * ToLanes(gravity)};
    if (link_node_[i] >= 0) {
      const TreeKinematics::Body& body = kinematics->bodies_[link_node_[i]];
      const SpatialVector A = body.bias_acceleration + kinematics->accelerations_[link_node_[i]];
      const Lanes w = body.velocity.angular;
      const Lanes from_No = p_OBcm - body.p;
      const LaneMatrix inertia = MultiplyTransposed(X.R * link.inertia, X.R);
      force.linear +=
          link.mass * (A.linear + Cross(A.angular, from_No) + Cross(w, Cross(w, from_No)));
      force.angular = inertia * A.angular + Cross(w, inertia * w);
    }
    forces[i] = MoveForce(force, p_OBcm - joint_place(i));
  }
  for (const LinkWrench& wrench : wrenches) {
    const Lanes p_OP = ToLanes(wrench.p_W - kinematics->p_WO_);
    forces[wrench.link] -= MoveForce({ToLanes(wrench.torque_W), ToLanes(wrench.force_W)},
                                     p_OP - joint_place(wrench.link));
  }

  // a joint carries its link and all descendants
  for (int i = num_links() - 1; i >= 0; --i) {
    const int parent = links_[i].parent;
    if (parent >= 0) forces[parent] += MoveForce(forces[i], joint_place(i) - joint_place(parent));
    Eigen::Map<Vector3d>(reactions.data() + 6 * i) = ToVector(forces[i].angular);
    Eigen::Map<Vector3d>(reactions.data() + 6 * i + 3) = ToVector(forces[i].linear);
  }
}

}  // namespace pliant::physics
