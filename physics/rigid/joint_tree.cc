#include "physics/rigid/joint_tree.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "physics/rigid/compound_joint.h"
#include "physics/spatial/demand.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Quaterniond;
using Eigen::Vector3d;

Quaterniond ReadQuaternion(const double* q) {
  return {q[0], q[1], q[2], q[3]};
}

void WriteUnit(const Quaterniond& rotation, double* q) {
  const double scale = 1 / std::sqrt(rotation.squaredNorm());
  q[0] = scale * rotation.w();
  q[1] = scale * rotation.x();
  q[2] = scale * rotation.y();
  q[3] = scale * rotation.z();
}

bool IsIdentity(const RigidTransform& X) {
  return X.R == Matrix3d::Identity() && X.p == Vector3d::Zero();
}

}  // namespace

int CountJointTypes() {
  const int last = static_cast<int>(AllCompoundJoints().size()) - 1;
  return std::max(static_cast<int>(TypeOfCompound(last)) + 1,
                  static_cast<int>(JointType::kFirstAdded));
}

int CountPositions(JointType type) {
  switch (type) {
    case JointType::kFixed:
      return 0;
    case JointType::kRevolute:
    case JointType::kPrismatic:
    case JointType::kScrew:
      return 1;
    case JointType::kBall:
      return 4;
    case JointType::kFree:
      return 7;
    default:
      return FindCompoundJoint(type)->num_motions();
  }
}

int CountVelocities(JointType type) {
  switch (type) {
    case JointType::kBall:
      return 3;
    case JointType::kFree:
      return 6;
    default:
      return CountPositions(type);
  }
}

JointTree::JointTree(std::vector<Link> links) : links_(std::move(links)) {
  X_NL_.resize(links_.size());
  for (int i = 0; i < num_links(); ++i) {
    const Link& link = links_[i];
    PLIANT_DEMAND(link.parent >= -1 && link.parent < i);
    PLIANT_DEMAND(link.mass >= 0);
    const JointType type = link.joint.type;
    position_start_.push_back(num_positions_);
    velocity_start_.push_back(num_velocities_);

    // the parent of each velocity of a joint is the one before it
    int last = link.parent < 0 ? -1 : last_velocity_[link.parent];
    for (int k = 0; k < CountVelocities(type); ++k) {
      const int dof = num_velocities_ + k;
      link_of_velocity_.push_back(i);
      parent_velocity_.push_back(last);
      run_start_.push_back(last >= 0 && last == dof - 1 ? run_start_[last] : dof);
      reflected_inertia_.push_back(link.joint.rotor_inertia * link.joint.gear_ratio *
                                   link.joint.gear_ratio);
      last = dof;
    }
    last_velocity_.push_back(last);

    AddJoint(i);
    AddMass(i);
    AddRun(type);
    num_positions_ += CountPositions(type);
    num_velocities_ += CountVelocities(type);
    mass_ += link.mass;
    if (link.gravity_scale != 1 && link.mass > 0 && last_velocity_[i] >= 0) lightened_.push_back(i);
    if (i == 0) num_root_nodes_ = static_cast<int>(nodes_.size());
  }
  for (const RigidTransform& X : X_NL_) is_node_frame_.push_back(IsIdentity(X));
}

RigidTransform JointTree::AddNode(NodeType type, int parent, const RigidTransform& X_PF,
                                  const Vector3d& axis, int position, int velocity) {
  Node node;
  node.type = type;
  node.parent = parent;
  node.position = position;
  node.velocity = velocity;
  if (type == NodeType::kSlide) {
    node.turn = 0;
    node.travel = 1;
  } else if (type == NodeType::kTurn || type == NodeType::kScrew) {
    turns_.push_back(static_cast<int>(nodes_.size()));
  }

  // N keeps the axes of M if the joint's axis is one of them; otherwise its z is the joint's axis
  Matrix3d R_MN = Matrix3d::Identity();
  int k = 0;
  while (k < 3 && axis.cwiseAbs() != Vector3d::Unit(k)) ++k;
  if (k < 3) {
    node.axis = k;
    node.sign = axis[k];
  } else {
    R_MN = FrameFromNormal(axis);
  }
  node.X_PF = X_PF * RigidTransform{R_MN, Vector3d::Zero()};
  nodes_.push_back(node);
  return {R_MN.transpose(), Vector3d::Zero()};
}

void JointTree::AddJoint(int index) {
  const Link& link = links_[index];
  const Joint& joint = link.joint;
  const int position = position_start_[index];
  const int velocity = velocity_start_[index];
  int parent = link.parent < 0 ? -1 : link_node_[link.parent];
  RigidTransform X_NM = (link.parent < 0 ? RigidTransform{} : X_NL_[link.parent]) * joint.X_PF;
  const auto add = [&](NodeType type, const Vector3d& axis, int k) {
    X_NM = AddNode(type, parent, X_NM, axis, position + k, velocity + k);
    parent = static_cast<int>(nodes_.size()) - 1;
  };

  switch (joint.type) {
    case JointType::kFixed:
      break;
    case JointType::kRevolute:
      add(NodeType::kTurn, joint.axis, 0);
      break;
    case JointType::kPrismatic:
      add(NodeType::kSlide, joint.axis, 0);
      break;
    case JointType::kScrew:
      add(NodeType::kScrew, joint.axis, 0);
      nodes_.back().travel = joint.pitch / (2 * kPi);
      break;
    case JointType::kBall:
      add(NodeType::kBall, Vector3d::UnitZ(), 0);
      break;
    case JointType::kFree:
      add(NodeType::kFree, Vector3d::UnitZ(), 0);
      break;
    default: {
      int k = 0;
      for (const JointMotion& motion : FindCompoundJoint(joint.type)->Motions(joint))
        add(motion.kind == JointMotion::Kind::kTurn ? NodeType::kTurn : NodeType::kSlide,
            motion.axis, k++);
    }
  }
  link_node_.push_back(parent);
  X_NL_[index] = X_NM * joint.X_BM.Inverse();
}

void JointTree::AddRun(JointType type) {
  const int count = CountVelocities(type);
  if (count == 0) return;
  const bool turns = type == JointType::kBall || type == JointType::kFree;
  if (!turns && !runs_.empty() && !runs_.back().turns) {
    runs_.back().count += count;
  } else {
    runs_.push_back({num_positions_, num_velocities_, count, turns});
  }
}

void JointTree::AddMass(int index) {
  const Link& link = links_[index];
  if (link.mass == 0 && link.inertia.isZero(0)) return;
  const RigidTransform& X_NB = X_NL_[index];
  const Vector3d p_NoBcm = X_NB * link.p_BoBcm;
  const Matrix3d inertia = X_NB.R * link.inertia * X_NB.R.transpose();
  if (link_node_[index] < 0) {
    static_moment_ += link.mass * p_NoBcm;
    return;
  }

  Node& node = nodes_[link_node_[index]];
  const Matrix3d offset = CrossMatrix(p_NoBcm);
  node.mass += link.mass;
  node.first_moment += link.mass * p_NoBcm;
  node.inertia += inertia - link.mass * (offset * offset);
}

void JointTree::SetZero(std::span<double> q) const {
  std::fill(q.begin(), q.end(), 0);
  for (int i = 0; i < num_links(); ++i) {
    const JointType type = links_[i].joint.type;
    if (type == JointType::kBall || type == JointType::kFree) q[position_start_[i]] = 1;
  }
}

void JointTree::IntegratePositions(std::span<const double> v, double h, std::span<double> q) const {
  for (const Run& run : runs_) {
    const double* vi = v.data() + run.velocity;
    double* qi = q.data() + run.position;
    if (!run.turns) {
      for (int k = 0; k < run.count; ++k) qi[k] += h * vi[k];
      continue;
    }
    const Vector3d turn = h * Vector3d(vi[0], vi[1], vi[2]);
    WriteUnit(ReadQuaternion(qi) * RotationFromVector(turn), qi);
    for (int k = 3; k < run.count; ++k) qi[k + 1] += h * vi[k];
  }
}

void JointTree::CalcDifference(std::span<const double> q_from, std::span<const double> q_to,
                               std::span<double> v) const {
  for (int i = 0; i < num_links(); ++i) {
    const JointType type = links_[i].joint.type;
    const double* from = q_from.data() + position_start_[i];
    const double* to = q_to.data() + position_start_[i];
    double* vi = v.data() + velocity_start_[i];
    if (type != JointType::kBall && type != JointType::kFree) {
      for (int k = 0; k < CountVelocities(type); ++k) vi[k] = to[k] - from[k];
      continue;
    }
    const Vector3d turn = VectorFromRotation(ReadQuaternion(from).conjugate() * ReadQuaternion(to));
    for (int k = 0; k < 3; ++k) vi[k] = turn[k];
    for (int k = 3; k < CountVelocities(type); ++k) vi[k] = to[k + 1] - from[k + 1];
  }
}

}  // namespace pliant::physics
