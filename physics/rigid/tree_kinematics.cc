#include "physics/rigid/tree_kinematics.h"

#include <algorithm>

#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Rotation of the quaternion w, x, y, z, whatever its length.
Matrix3d RotationFromQuaternion(const double* q) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  const double s = 2 / (w * w + x * x + y * y + z * z);
  Matrix3d R;
  R << 1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),  //
      s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x),   //
      s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y);
  return R;
}

// R turned about its own column `axis`.
void TurnAbout(int axis, const SinCos& angle, Matrix3d* R) {
  const int i = axis == 2 ? 0 : axis + 1;
  const int j = 3 - axis - i;
  const Vector3d x = R->col(i);
  const Vector3d y = R->col(j);
  R->col(i) = angle.cos * x + angle.sin * y;
  R->col(j) = angle.cos * y - angle.sin * x;
}

// In world axes.
SpatialInertia TurnInertia(const Matrix3d& R, double mass, const Vector3d& p_NoNcm,
                           const Matrix3d& inertia) {
  const Matrix3d half = R * inertia;
  const auto entry = [&](int i, int j) { return half.row(i).dot(R.row(j)); };
  return {mass,
          mass * (R * p_NoNcm),
          {entry(0, 0), entry(1, 1), entry(2, 2)},
          {entry(1, 2), entry(0, 2), entry(0, 1)}};
}

}  // namespace

TreeKinematics::TreeKinematics(const JointTree& tree)
    : bodies_(tree.nodes_.size()),
      stride_((tree.num_velocities() + 3) / 4 * 4 + 4),
      axes_(9 * stride_),
      link_poses_(tree.num_links()),
      link_node_(tree.link_node_),
      articulated_(tree.nodes_.size()),
      pivots_(tree.num_velocities()),
      accelerations_(tree.nodes_.size()),
      forces_(std::max<std::size_t>(tree.nodes_.size(), tree.num_links())) {}

void JointTree::CalcPositions(std::span<const double> q, TreeKinematics* kinematics) const {
  TreeKinematics::Body* bodies = kinematics->bodies_.data();
  const int count = static_cast<int>(nodes_.size());

  // the first link's joint takes the reference point along
  Vector3d& p_WO = kinematics->p_WO_;
  p_WO = num_root_nodes_ == 0 && !links_.empty() ? X_NL_[0].p : Vector3d::Zero();
  for (int i = 0; i < count; ++i) {
    const Node& node = nodes_[i];
    TreeKinematics::Body& body = bodies[i];
    const double* qi = q.data() + node.position;

    // F in the world, placed by r
    if (node.parent < 0) {
      body.R = node.X_PF.R;
      body.r = node.X_PF.p - p_WO;
    } else {
      const TreeKinematics::Body& parent = bodies[node.parent];
      body.R.noalias() = parent.R * node.X_PF.R;
      body.r.noalias() = parent.R * node.X_PF.p;
    }

    // M in F
    const Matrix3d R_WF = body.R;
    switch (node.type) {
      case NodeType::kTurn:
      case NodeType::kScrew:
        TurnAbout(node.axis, CalcSinCos(node.sign * qi[0]), &body.R);
        break;
      case NodeType::kSlide:
        break;
      case NodeType::kBall:
      case NodeType::kFree:
        body.R.noalias() = R_WF * RotationFromQuaternion(qi);
        break;
    }
    if (node.travel != 0) body.r += (node.sign * node.travel * qi[0]) * body.R.col(node.axis);
    if (node.type == NodeType::kFree) body.r += R_WF * Vector3d(qi[4], qi[5], qi[6]);
    if (i < num_root_nodes_) {
      p_WO += body.r;
      body.r.setZero();
    }
    body.p = node.parent < 0 ? body.r : Vector3d(bodies[node.parent].p + body.r);

    // what the node moves about or along
    if (node.type < NodeType::kBall) {
      const Vector3d a = node.sign * body.R.col(node.axis);
      kinematics->SetAxis(node.velocity, body.p, node.turn * a, node.travel * a);
    } else {
      for (int k = 0; k < 3; ++k)
        kinematics->SetAxis(node.velocity + k, body.p, body.R.col(k), Vector3d::Zero());
      for (int k = 3; k < CountAxes(node.type); ++k)
        kinematics->SetAxis(node.velocity + k, body.p, Vector3d::Zero(), R_WF.col(k - 3));
    }
    body.inertia = TurnInertia(body.R, node.mass, node.p_NoNcm, node.inertia);
    body.composite = body.inertia;
  }

  // what each carries
  for (int i = count - 1; i >= 0; --i) {
    if (nodes_[i].parent >= 0)
      bodies[nodes_[i].parent].composite += bodies[i].composite.MovedBy(bodies[i].r);
  }
  CalcLinkPoses(kinematics);
}

void JointTree::CalcLinkPoses(TreeKinematics* kinematics) const {
  for (int i = 0; i < num_links(); ++i) {
    RigidTransform& X = kinematics->link_poses_[i];
    if (link_node_[i] < 0) {
      X = {X_NL_[i].R, X_NL_[i].p - kinematics->p_WO_};
      continue;
    }
    const TreeKinematics::Body& body = kinematics->bodies_[link_node_[i]];
    if (is_node_frame_[i]) {
      X = {body.R, body.p};
    } else {
      X.R.noalias() = body.R * X_NL_[i].R;
      X.p.noalias() = body.R * X_NL_[i].p + body.p;
    }
  }
}

void JointTree::CalcVelocities(std::span<const double> v, TreeKinematics* kinematics) const {
  TreeKinematics::Body* bodies = kinematics->bodies_.data();
  const int count = static_cast<int>(nodes_.size());
  for (int i = 0; i < count; ++i) {
    const Node& node = nodes_[i];
    TreeKinematics::Body& body = bodies[i];
    // of M in F
    SpatialVector joint = v[node.velocity] * kinematics->own_axis(node.velocity);
    for (int k = 1; k < CountAxes(node.type); ++k)
      joint += v[node.velocity + k] * kinematics->own_axis(node.velocity + k);

    SpatialVector& V = body.velocity;
    SpatialVector& A = body.bias_acceleration;
    if (node.parent < 0) {
      V = joint;
      A = {};
    } else {
      const TreeKinematics::Body& parent = bodies[node.parent];
      const Vector3d& w = parent.velocity.angular;
      const Vector3d wr = w.cross(body.r);
      V.angular = parent.velocity.angular + joint.angular;
      V.linear = parent.velocity.linear + wr + joint.linear;
      A.angular = parent.bias_acceleration.angular + w.cross(joint.angular);
      A.linear = parent.bias_acceleration.linear + parent.bias_acceleration.angular.cross(body.r) +
                 w.cross(wr + 2 * joint.linear);
    }
    const SpatialVector momentum = body.inertia * SpatialVector{V.angular, Vector3d::Zero()};
    body.bias_force = body.inertia * A;
    body.bias_force.angular += V.angular.cross(momentum.angular);
    body.bias_force.linear += V.angular.cross(momentum.linear);
  }
  for (int i = count - 1; i >= 0; --i) {
    if (nodes_[i].parent >= 0)
      bodies[nodes_[i].parent].bias_force += MoveForce(bodies[i].bias_force, bodies[i].r);
  }
}

void JointTree::CalcJacobian(const TreeKinematics& kinematics, int link, const Vector3d& p_W,
                             std::span<double> J) const {
  std::fill(J.begin(), J.end(), 0);
  const Vector3d p = p_W - kinematics.p_WO_;
  for (int d = last_velocity_[link]; d >= 0; d = parent_velocity_[d]) {
    const SpatialVector S = kinematics.axis(d);
    Eigen::Map<Vector3d>(J.data() + 6 * d) = S.angular;
    Eigen::Map<Vector3d>(J.data() + 6 * d + 3) = S.linear + S.angular.cross(p);
  }
}

void JointTree::CalcPointJacobian(const TreeKinematics& kinematics, int link, const Vector3d& p_W,
                                  std::span<double> J) const {
  std::fill(J.begin(), J.end(), 0);
  const Vector3d p = p_W - kinematics.p_WO_;
  for (int d = last_velocity_[link]; d >= 0; d = parent_velocity_[d]) {
    const SpatialVector S = kinematics.axis(d);
    Eigen::Map<Vector3d>(J.data() + 3 * d) = S.linear + S.angular.cross(p);
  }
}

void JointTree::AddWrench(const TreeKinematics& kinematics, int link, const Vector3d& p_W,
                          const Vector3d& torque_W, const Vector3d& force_W,
                          std::span<double> tau) const {
  const Vector3d p = p_W - kinematics.p_WO_;
  const SpatialVector force{torque_W + p.cross(force_W), force_W};
  for (int d = last_velocity_[link]; d >= 0; d = parent_velocity_[d])
    tau[d] += Dot(kinematics.axis(d), force);
}

Vector3d JointTree::CalcCenterOfMass(const TreeKinematics& kinematics) const {
  Vector3d moment = Vector3d::Zero();  // about O, of what moves
  double mass = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].parent >= 0) continue;
    const SpatialInertia& composite = kinematics.bodies_[i].composite;
    moment += composite.first + composite.mass * kinematics.bodies_[i].p;
    mass += composite.mass;
  }
  if (mass_ == 0) return kinematics.p_WO_;
  return (mass / mass_) * kinematics.p_WO_ + (moment + static_moment_) / mass_;
}

Eigen::Matrix<double, 6, 1> JointTree::CalcMomentum(const TreeKinematics& kinematics) const {
  SpatialVector sum;
  for (const TreeKinematics::Body& body : kinematics.bodies_)
    sum += MoveForce(body.inertia * body.velocity, body.p);
  Eigen::Matrix<double, 6, 1> momentum;
  momentum << sum.linear, sum.angular + kinematics.p_WO_.cross(sum.linear);
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
