#include "physics/rigid/tree_kinematics.h"

#include <algorithm>

#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Rotation of the quaternion w, x, y, z of any length.
Matrix3d RotationFromQuaternion(const double* q) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  const double s = 2 / (w * w + x * x + y * y + z * z);
  Matrix3d R;
  R << 1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),  //
      s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x),   //
      s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y);
  return R;
}

// Turns R about its own column `axis`.
void TurnAbout(int axis, const SinCos& angle, LaneMatrix* R) {
  const int i = axis == 2 ? 0 : axis + 1;
  const int j = 3 - axis - i;
  const Lanes x = R->columns[i];
  const Lanes y = R->columns[j];
  R->columns[i] = angle.cos * x + angle.sin * y;
  R->columns[j] = angle.cos * y - angle.sin * x;
}

}  // namespace

TreeKinematics::TreeKinematics(const JointTree& tree)
    : bodies_(tree.nodes_.size()),
      own_axes_(tree.num_velocities()),
      stride_((tree.num_velocities() + 3) / 4 * 4 + 4),
      axes_(6 * stride_),
      link_poses_(tree.num_links()),
      link_node_(tree.link_node_),
      angles_(tree.turns_.size()),
      sin_cos_(tree.turns_.size()),
      articulated_(tree.nodes_.size()),
      pivots_(tree.num_velocities()),
      accelerations_(tree.nodes_.size()),
      forces_(std::max<std::size_t>(tree.nodes_.size(), tree.num_links())) {}

void JointTree::CalcPositions(std::span<const double> q, TreeKinematics* kinematics) const {
  TreeKinematics::Body* bodies = kinematics->bodies_.data();
  const int count = static_cast<int>(nodes_.size());

  // sines and cosines of all angles at once, four per register
  for (std::size_t k = 0; k < turns_.size(); ++k) {
    const Node& node = nodes_[turns_[k]];
    kinematics->angles_[k] = node.sign * q[node.position];
  }
  CalcSinCos(kinematics->angles_, kinematics->sin_cos_);
  const SinCos* next_turn = kinematics->sin_cos_.data();

  // the reference point O moves with the joint of the first link
  Vector3d& p_WO = kinematics->p_WO_;
  p_WO = num_root_nodes_ == 0 && !links_.empty() ? X_NL_[0].p : Vector3d::Zero();
  for (int i = 0; i < count; ++i) {
    const Node& node = nodes_[i];
    TreeKinematics::Body& body = bodies[i];
    const double* qi = q.data() + node.position;

    // orientation of F in the world, and its position r from the parent
    LaneMatrix R = ToLaneMatrix(node.X_PF.R);
    Lanes r = ToLanes(node.X_PF.p);
    if (node.parent < 0) {
      r -= ToLanes(p_WO);
    } else {
      const TreeKinematics::Body& parent = bodies[node.parent];
      R = parent.R * node.X_PF.R;
      r = parent.R * node.X_PF.p;
    }

    // motion of M in F
    const LaneMatrix R_WF = R;
    if (node.type >= NodeType::kBall) {
      R = R * RotationFromQuaternion(qi);
    } else if (node.turn != 0) {
      TurnAbout(node.axis, *next_turn++, &R);
    }
    if (node.travel != 0) r += (node.sign * node.travel * qi[0]) * R.columns[node.axis];
    if (node.type == NodeType::kFree) r += R_WF * Vector3d(qi[4], qi[5], qi[6]);
    if (i < num_root_nodes_) {
      p_WO += ToVector(r);
      r = Lanes{};
    }
    const Lanes p = node.parent < 0 ? r : bodies[node.parent].p + r;

    // motion axes
    if (node.type < NodeType::kBall) {
      const Lanes a = node.sign * R.columns[node.axis];
      kinematics->SetAxis(node.velocity, p, {node.turn * a, node.travel * a});
    } else {
      for (int k = 0; k < 3; ++k)
        kinematics->SetAxis(node.velocity + k, p, {R.columns[k], Lanes{}});
      for (int k = 3; k < CountAxes(node.type); ++k)
        kinematics->SetAxis(node.velocity + k, p, {Lanes{}, R_WF.columns[k - 3]});
    }

    body.R = R;
    body.p = p;
    body.r = r;
    body.inertia = {node.mass, R * node.first_moment, MultiplyTransposed(R * node.inertia, R)};
    body.composite = body.inertia;
  }

  // composite inertias
  for (int i = count - 1; i >= 0; --i) {
    if (nodes_[i].parent >= 0)
      bodies[nodes_[i].parent].composite += bodies[i].composite.MovedBy(bodies[i].r);
  }
  CalcLinkPoses(kinematics);
}

void JointTree::CalcLinkPoses(TreeKinematics* kinematics) const {
  for (int i = 0; i < num_links(); ++i) {
    TreeKinematics::Pose& X = kinematics->link_poses_[i];
    if (link_node_[i] < 0) {
      X = {ToLaneMatrix(X_NL_[i].R), ToLanes(X_NL_[i].p - kinematics->p_WO_)};
      continue;
    }
    const TreeKinematics::Body& body = kinematics->bodies_[link_node_[i]];
    if (is_node_frame_[i]) {
      X = {body.R, body.p};
    } else {
      X = {body.R * X_NL_[i].R, body.R * X_NL_[i].p + body.p};
    }
  }
}

void JointTree::CalcVelocities(std::span<const double> v, TreeKinematics* kinematics) const {
  TreeKinematics::Body* bodies = kinematics->bodies_.data();
  const int count = static_cast<int>(nodes_.size());
  for (int i = 0; i < count; ++i) {
    const Node& node = nodes_[i];
    TreeKinematics::Body& body = bodies[i];

    // velocity of M in F
    SpatialVector joint = v[node.velocity] * kinematics->own_axis(node.velocity);
    for (int k = 1; k < CountAxes(node.type); ++k)
      joint += v[node.velocity + k] * kinematics->own_axis(node.velocity + k);

    SpatialVector V = joint;
    SpatialVector A;
    if (node.parent >= 0) {
      const TreeKinematics::Body& parent = bodies[node.parent];
      const Lanes w = parent.velocity.angular;
      const Lanes wr = Cross(w, body.r);
      const SpatialVector& A_P = parent.bias_acceleration;
      V.angular += w;
      V.linear += parent.velocity.linear + wr;
      A.angular = A_P.angular + Cross(w, joint.angular);
      A.linear =
          A_P.linear + Cross(A_P.angular, body.r) + Cross(w, wr + joint.linear + joint.linear);
    }
    const SpatialInertia& inertia = body.inertia;
    const Lanes w = V.angular;
    SpatialVector F = inertia * A;
    F.angular += Cross(w, inertia.rotational * w);
    F.linear += Cross(w, Cross(w, inertia.first));
    body.velocity = V;
    body.bias_acceleration = A;
    body.bias_force = F;
  }
  for (int i = count - 1; i >= 0; --i) {
    if (nodes_[i].parent >= 0)
      bodies[nodes_[i].parent].bias_force += MoveForce(bodies[i].bias_force, bodies[i].r);
  }
}

void JointTree::CalcJacobian(const TreeKinematics& kinematics, int link, const Vector3d& p_W,
                             std::span<double> J) const {
  std::fill(J.begin(), J.end(), 0);
  const Lanes p = ToLanes(p_W - kinematics.p_WO_);
  for (int d = last_velocity_[link]; d >= 0; d = parent_velocity_[d]) {
    const SpatialVector S = MoveMotion(kinematics.axis(d), p);
    Eigen::Map<Vector3d>(J.data() + 6 * d) = ToVector(S.angular);
    Eigen::Map<Vector3d>(J.data() + 6 * d + 3) = ToVector(S.linear);
  }
}

void JointTree::CalcPointJacobian(const TreeKinematics& kinematics, int link, const Vector3d& p_W,
                                  std::span<double> J) const {
  std::fill(J.begin(), J.end(), 0);
  FillPointJacobian(kinematics, link, p_W, J);
}

void JointTree::FillPointJacobian(const TreeKinematics& kinematics, int link, const Vector3d& p_W,
                                  std::span<double> J) const {
  const Lanes p = ToLanes(p_W - kinematics.p_WO_);
  for (int d = last_velocity_[link]; d >= 0; d = parent_velocity_[d]) {
    const SpatialVector S = MoveMotion(kinematics.axis(d), p);
    Eigen::Map<Vector3d>(J.data() + 3 * d) = ToVector(S.linear);
  }
}

void JointTree::AddWrench(const TreeKinematics& kinematics, int link, const Vector3d& p_W,
                          const Vector3d& torque_W, const Vector3d& force_W,
                          std::span<double> tau) const {
  const SpatialVector force =
      MoveForce({ToLanes(torque_W), ToLanes(force_W)}, ToLanes(p_W - kinematics.p_WO_));
  for (int d = last_velocity_[link]; d >= 0; d = parent_velocity_[d])
    tau[d] += Dot(kinematics.axis(d), force);
}

Vector3d JointTree::CalcCenterOfMass(const TreeKinematics& kinematics) const {
  Lanes moment = {};  // about O, of moving links
  double mass = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].parent >= 0) continue;
    const SpatialInertia& composite = kinematics.bodies_[i].composite;
    moment += composite.first + composite.mass * kinematics.bodies_[i].p;
    mass += composite.mass;
  }
  if (mass_ == 0) return kinematics.p_WO_;
  return (mass / mass_) * kinematics.p_WO_ + (ToVector(moment) + static_moment_) / mass_;
}

double JointTree::CalcPotentialEnergy(const TreeKinematics& kinematics,
                                      const Vector3d& gravity) const {
  double energy = mass_ > 0 ? -mass_ * gravity.dot(CalcCenterOfMass(kinematics)) : 0;
  for (const int i : lightened_) {
    const Link& link = links_[i];
    energy +=
        (1 - link.gravity_scale) * link.mass * gravity.dot(kinematics.link_pose(i) * link.p_BoBcm);
  }
  return energy;
}

Eigen::Matrix<double, 6, 1> JointTree::CalcMomentum(const TreeKinematics& kinematics) const {
  SpatialVector sum;
  for (const TreeKinematics::Body& body : kinematics.bodies_)
    sum += MoveForce(body.inertia * body.velocity, body.p);
  Eigen::Matrix<double, 6, 1> momentum;
  const Vector3d linear = ToVector(sum.linear);
  momentum << linear, ToVector(sum.angular) + kinematics.p_WO_.cross(linear);
  return momentum;
}

double JointTree::CalcKineticEnergy(const TreeKinematics& kinematics,
                                    std::span<const double> v) const {
  double twice = 0;
  for (const TreeKinematics::Body& body : kinematics.bodies_)
    twice += Dot(body.velocity, body.inertia * body.velocity);
  for (int d = 0; d < num_velocities_; ++d) twice += reflected_inertia_[d] * v[d] * v[d];
  return twice / 2;
}

}  // namespace pliant::physics
