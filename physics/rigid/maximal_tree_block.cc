#include "physics/rigid/maximal_tree_block.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <tbb/enumerable_thread_specific.h>

#include "physics/dynamics/abilities/compliant_step.h"
#include "physics/rigid/free_turn.h"
#include "physics/rigid/joint_laws.h"
#include "physics/rigid/tree_kinematics.h"
#include "physics/spatial/pose_numbers.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using SixRow = Eigen::Matrix<double, 1, 6>;

// A rigid body of the tree: links that are fixed to each other.
struct TreeBody {
  int link = 0;                         // its joint moves the body, its frame is B
  int parent = -1;                      // body; −1: the world
  RigidTransform X_PF;                  // of the joint, in the parent's B (or the world)
  double mass = 0, weight = 0;          // [kg]; Σ mass · gravity_scale
  Vector3d p_BoBcm = Vector3d::Zero();  // in B
  Vector3d weight_center =
      Vector3d::Zero();                 // in B: Σ mass · gravity_scale · r, where r is from Bcm
  Matrix3d inertia = Matrix3d::Zero();  // about Bcm, in B
};

struct TreeBodies {
  std::vector<TreeBody> bodies;      // parents first
  std::vector<int> body_of;          // of each link; −1: the world
  std::vector<RigidTransform> X_BL;  // of each link in its body, or in the world
};

TreeBodies FindBodies(const JointTree& tree) {
  TreeBodies result;
  for (int i = 0; i < tree.num_links(); ++i) {
    const Link& link = tree.links()[i];
    const int parent = link.parent < 0 ? -1 : result.body_of[link.parent];
    const RigidTransform X_BP = link.parent < 0 ? RigidTransform{} : result.X_BL[link.parent];
    const RigidTransform X_BF = X_BP * link.joint.X_PF;
    if (CountVelocities(link.joint.type) == 0) {
      result.body_of.push_back(parent);
      result.X_BL.push_back(X_BF * link.joint.X_BM.Inverse());
    } else {
      TreeBody body;
      body.link = i;
      body.parent = parent;
      body.X_PF = X_BF;
      result.body_of.push_back(static_cast<int>(result.bodies.size()));
      result.X_BL.push_back({});
      result.bodies.push_back(body);
    }
    if (result.body_of.back() < 0) continue;
    // first moments for now; divided by the masses below
    TreeBody& body = result.bodies[result.body_of.back()];
    body.mass += link.mass;
    body.weight += link.mass * link.gravity_scale;
    const Vector3d center = result.X_BL[i] * link.p_BoBcm;
    body.p_BoBcm += link.mass * center;
    body.weight_center += link.mass * link.gravity_scale * center;
  }
  for (TreeBody& body : result.bodies) {
    if (body.mass > 0) body.p_BoBcm /= body.mass;
    body.weight_center -= body.weight * body.p_BoBcm;
  }
  for (int i = 0; i < tree.num_links(); ++i) {
    if (result.body_of[i] < 0) continue;
    const Link& link = tree.links()[i];
    TreeBody& body = result.bodies[result.body_of[i]];
    const RigidTransform& X = result.X_BL[i];
    const Matrix3d r = CrossMatrix(X * link.p_BoBcm - body.p_BoBcm);
    body.inertia += X.R * link.inertia * X.R.transpose() - link.mass * r * r;
  }
  return result;
}

bool IsKnownJoint(JointType type) {
  return type == JointType::kRevolute || type == JointType::kPrismatic ||
         type == JointType::kScrew || type == JointType::kUniversal || type == JointType::kPlanar ||
         type == JointType::kBall || type == JointType::kFree;
}

// Angle from `from` to `to` about a unit axis, of their components perpendicular to it.
double CalcAngleAbout(const Vector3d& axis, const Vector3d& from, const Vector3d& to) {
  return CalcAtan2(axis.cross(from).dot(to), from.dot(to) - axis.dot(from) * axis.dot(to));
}
// Adds whole turns to an angle to bring it nearest to another.
double TurnNear(double angle, double near) {
  return angle - 2 * kPi * std::round((angle - near) / (2 * kPi));
}

// Two unit vectors perpendicular to a unit vector and to each other.
std::pair<Vector3d, Vector3d> FindAcross(const Vector3d& axis) {
  const Matrix3d R = FrameFromNormal(axis);
  return {R.col(0), R.col(1)};
}

struct BodyMotion {
  RigidTransform X_WB;
  Vector3d p_WBcm = Vector3d::Zero();
};

// Frames of a joint, and lever arms from the two bodies that it connects.
struct JointPlace {
  RigidTransform X_WF, X_WM;
  Vector3d r_P, r_C;  // from the centres of mass of the two bodies to Mo
};

class MaximalTree {
 public:
  explicit MaximalTree(JointTreeParameters p)
      : parameters(std::move(p)),
        tree(*parameters.tree),
        bodies(FindBodies(tree)),
        laws(FindLaws(tree)),
        stops(FindStops(tree)),
        num_joint_positions(tree.num_positions()),
        num_joint_velocities(tree.num_velocities()) {
    for (const TreeBody& body : bodies.bodies) {
      const auto [a, b] = FindAcross(AxisOf(body));
      across.push_back({a, b});
    }
  }

  const Joint& JointOf(const TreeBody& body) const { return tree.links()[body.link].joint; }
  Vector3d AxisOf(const TreeBody& body) const { return JointOf(body).axis; }
  int num_bodies() const { return static_cast<int>(bodies.bodies.size()); }
  int position(int body) const { return num_joint_positions + 7 * body; }
  int velocity(int body) const { return num_joint_velocities + 6 * body; }

  BodyMotion Place(std::span<const double> q, int body) const {
    const int first = position(body);
    BodyMotion motion;
    motion.X_WB.R = RotationAt(q.subspan(first)).toRotationMatrix();
    motion.p_WBcm = VectorAt(q, first + 4);
    motion.X_WB.p = motion.p_WBcm - motion.X_WB.R * bodies.bodies[body].p_BoBcm;
    return motion;
  }
  JointPlace PlaceJoint(std::span<const BodyMotion> motions, int body) const {
    const TreeBody& child = bodies.bodies[body];
    JointPlace joint;
    joint.X_WF = child.parent < 0 ? child.X_PF : motions[child.parent].X_WB * child.X_PF;
    joint.X_WM = motions[body].X_WB * JointOf(child).X_BM;
    joint.r_C = joint.X_WM.p - motions[body].p_WBcm;
    joint.r_P = child.parent < 0 ? Vector3d(Vector3d::Zero())
                                 : Vector3d(joint.X_WM.p - motions[child.parent].p_WBcm);
    return joint;
  }

  // Row that maps the twists of a body and its parent to the body's k-th joint velocity.
  void CalcVelocityRow(const JointPlace& joint, int body, int k, SixRow* parent,
                       SixRow* child) const {
    const TreeBody& of = bodies.bodies[body];
    const JointType type = JointOf(of).type;
    Vector3d direction;
    bool turns = true;
    if (CountVelocities(type) == 1) {
      direction = joint.X_WF.R * AxisOf(of);
      turns = type != JointType::kPrismatic;
    } else if (type == JointType::kPlanar) {
      turns = k == 2;
      direction = joint.X_WF.R * (turns    ? AxisOf(of)
                                  : k == 0 ? across[body].first
                                           : across[body].second);
    } else if (type == JointType::kUniversal) {
      // ω = a₀ q̇₀ + a₁ q̇₁, so q̇ₖ is the product of ω and the dual vector of aₖ
      const Vector3d axes[] = {joint.X_WF.R * AxisOf(of), joint.X_WM.R * JointOf(of).axis2};
      const double along = axes[0].dot(axes[1]);
      direction = (axes[k] - along * axes[1 - k]) / (1 - along * along);
    } else {
      turns = k < 3;
      direction = turns ? joint.X_WM.R.col(k) : joint.X_WF.R.col(k - 3);
    }
    FillRow(joint, direction, turns, parent, child);
  }
  static void FillRow(const JointPlace& joint, const Vector3d& direction, bool turns,
                      SixRow* parent, SixRow* child) {
    if (turns) {
      *parent << -direction.transpose(), 0, 0, 0;
      *child << direction.transpose(), 0, 0, 0;
    } else {
      *parent << -joint.r_P.cross(direction).transpose(), -direction.transpose();
      *child << joint.r_C.cross(direction).transpose(), direction.transpose();
    }
  }
  double CalcJointVelocity(std::span<const BodyMotion> motions, std::span<const double> v, int body,
                           int k) const {
    SixRow parent, child;
    CalcVelocityRow(PlaceJoint(motions, body), body, k, &parent, &child);
    const auto rate = [&](const SixRow& row, int of) {
      double sum = 0;
      for (int i = 0; i < 6; ++i) sum += row[i] * v[velocity(of) + i];
      return sum;
    };
    const int up = bodies.bodies[body].parent;
    return rate(child, body) + (up < 0 ? 0 : rate(parent, up));
  }
  // Joint velocities from twists.
  void ReadJointVelocities(std::span<const BodyMotion> motions, std::span<double> v) const {
    for (int b = 0; b < num_bodies(); ++b) {
      const int link = bodies.bodies[b].link, start = tree.velocity_start(link);
      for (int k = 0; k < CountVelocities(JointOf(bodies.bodies[b]).type); ++k)
        v[start + k] = CalcJointVelocity(motions, v, b, k);
    }
  }
  // Joint positions from poses; angles are those nearest to the ones in `q`.
  void ReadJointPositions(std::span<const BodyMotion> motions, std::span<double> q) const {
    for (int b = 0; b < num_bodies(); ++b) {
      const TreeBody& body = bodies.bodies[b];
      const JointPlace joint = PlaceJoint(motions, b);
      const int start = tree.position_start(body.link);
      const RigidTransform X_FM = joint.X_WF.Inverse() * joint.X_WM;
      const Vector3d axis = AxisOf(body);
      switch (JointOf(body).type) {
        case JointType::kRevolute:
        case JointType::kScrew:
          q[start] = TurnNear(CalcTurn(X_FM.R, b), q[start]);
          break;
        case JointType::kPlanar:
          q[start] = across[b].first.dot(X_FM.p);
          q[start + 1] = across[b].second.dot(X_FM.p);
          q[start + 2] = TurnNear(CalcTurn(X_FM.R, b), q[start + 2]);
          break;
        case JointType::kUniversal: {
          // R_FM axis2 depends only on the first angle, R_FMᵀ axis only on the second
          const Vector3d& second = JointOf(body).axis2;
          q[start] = TurnNear(CalcAngleAbout(axis, second, X_FM.R * second), q[start]);
          q[start + 1] =
              TurnNear(CalcAngleAbout(second, X_FM.R.transpose() * axis, axis), q[start + 1]);
          break;
        }
        case JointType::kPrismatic:
          q[start] = axis.dot(X_FM.p);
          break;
        default: {
          Quaterniond rotation = UnitQuaternion(X_FM.R);
          if (rotation.dot(RotationAt(q.subspan(start))) < 0) rotation.coeffs() *= -1;
          const double values[] = {rotation.w(), rotation.x(), rotation.y(), rotation.z()};
          std::copy(std::begin(values), std::end(values), q.begin() + start);
          if (JointOf(body).type == JointType::kFree)
            for (int r = 0; r < 3; ++r) q[start + 4 + r] = X_FM.p[r];
        }
      }
    }
  }
  // Angle between the two frames of a joint about its axis.
  double CalcTurn(const Matrix3d& R_FM, int body) const {
    const Vector3d turned = R_FM * across[body].first;
    return CalcAtan2(across[body].second.dot(turned), across[body].first.dot(turned));
  }
  void PlaceAll(std::span<const double> q, std::vector<BodyMotion>* motions) const {
    motions->resize(num_bodies());
    for (int b = 0; b < num_bodies(); ++b) (*motions)[b] = Place(q, b);
  }

  // Fills the errors of a joint's rows and the rows, each on the parent's twist and the child's;
  // returns their number. `q` holds approximate joint positions.
  int CalcRows(std::span<const BodyMotion> motions, std::span<const double> q, int body,
               double errors[6], std::pair<SixRow, SixRow> rows[6]) const {
    const TreeBody& of = bodies.bodies[body];
    const JointType type = JointOf(of).type;
    if (type == JointType::kFree) return 0;
    const JointPlace joint = PlaceJoint(motions, body);
    const Matrix3d& R = joint.X_WF.R;
    const Vector3d apart = joint.X_WM.p - joint.X_WF.p;
    int count = 0;
    const auto add = [&](const Vector3d& direction, bool turns, double error) {
      errors[count] = error;
      FillRow(joint, direction, turns, &rows[count].first, &rows[count].second);
      ++count;
    };
    const Vector3d a = R * across[body].first, b = R * across[body].second;
    const Vector3d axis = R * AxisOf(of);
    if (type != JointType::kPlanar) {
      add(a, false, a.dot(apart));
      add(b, false, b.dot(apart));
    }
    if (type == JointType::kScrew) {
      // travel along the axis is proportional to the angle
      const double travel = JointOf(of).pitch / (2 * kPi);
      const double turn =
          TurnNear(CalcTurn(R.transpose() * joint.X_WM.R, body), q[tree.position_start(of.link)]);
      add(axis, false, axis.dot(apart) - travel * turn);
      rows[count - 1].first.head<3>() += travel * axis.transpose();
      rows[count - 1].second.head<3>() -= travel * axis.transpose();
    } else if (type != JointType::kPrismatic) {
      add(axis, false, axis.dot(apart));
    }
    if (type == JointType::kRevolute || type == JointType::kScrew || type == JointType::kPlanar) {
      // the joint's axis has the same direction on both bodies
      const Vector3d moved = joint.X_WM.R * AxisOf(of);
      for (const Vector3d& t : {a, b}) {
        const Vector3d direction = axis.dot(moved) * t - t.dot(moved) * axis;
        add(direction, true, t.dot(axis.cross(moved)));
      }
    } else if (type == JointType::kUniversal) {
      // the angle between the two axes is constant
      const Vector3d second = joint.X_WM.R * JointOf(of).axis2;
      add(second.cross(axis), true, axis.dot(second) - AxisOf(of).dot(JointOf(of).axis2));
    } else if (type == JointType::kPrismatic) {
      const Quaterniond turn = UnitQuaternion(joint.X_WM.R * R.transpose());
      const Vector3d error = (turn.w() < 0 ? -2.0 : 2.0) * turn.vec();
      for (int r = 0; r < 3; ++r) add(Vector3d::Unit(r), true, error[r]);
    }
    return count;
  }

  JointTreeParameters parameters;
  const JointTree& tree;
  TreeBodies bodies;
  std::vector<JointForceLaw> laws;
  std::vector<JointStop> stops;
  int num_joint_positions, num_joint_velocities;
  std::vector<std::pair<Vector3d, Vector3d>> across;  // across each body's joint axis, in F
};

void PlaceFrames(const MaximalTree& model, std::span<const double> q, std::span<const double> v,
                 std::span<FrameMotion> frames) {
  for (int i = 0; i < model.tree.num_links(); ++i) {
    const int body = model.bodies.body_of[i];
    const RigidTransform& X_BL = model.bodies.X_BL[i];
    if (body < 0) {
      frames[i] = {X_BL, Vector3d::Zero(), Vector3d::Zero()};
      continue;
    }
    const BodyMotion motion = model.Place(q, body);
    const RigidTransform X_WL = motion.X_WB * X_BL;
    const Vector3d omega = VectorAt(v, model.velocity(body));
    frames[i] = {X_WL, omega,
                 VectorAt(v, model.velocity(body) + 3) + omega.cross(X_WL.p - motion.p_WBcm)};
  }
}

class MaximalTreeStep final : public CompliantStep<BlockStep>, public FrameStep, public JointStep {
 public:
  explicit MaximalTreeStep(const MaximalTree& model) : model_(model), kinematics_(model.tree) {
    space_ = VelocitySpace::MakeUniform(model_.num_bodies(), 6, model_.num_joint_velocities);
    v_star_.resize(space_.num_velocities());
    const int count = model_.num_bodies();
    masses_.resize(36 * std::size_t(count));
    start_.resize(count);
    end_.resize(count);
    for (int b = 0; b < count; ++b) {
      const TreeBody& body = model_.bodies.bodies[b];
      if (model_.JointOf(body).type == JointType::kFree) continue;
      const int own = model_.velocity(b), up = body.parent < 0 ? -1 : model_.velocity(body.parent);
      sets_.push_back({up, up < 0 ? -1 : up + 3, own, own + 3});
      set_body_.push_back(b);
    }
    jacobian_.resize(6 * std::size_t(model_.num_joint_velocities));
  }

  StepAbilities abilities() override {
    return {.frames = this, .joints = this, .compliance = this};
  }
  std::span<const double> start_velocities() const override { return v0_; }

  absl::Status Pose(const Stage& stage, const BlockState& base,
                    const BlockInputs& inputs) override {
    const std::span<const double> q0 = base.q, v0 = base.v;
    stage_ = stage;
    gravity_ = inputs.gravity;
    q0_ = q0;
    v0_ = v0;
    const double h = stage.h, impulse = stage.impulse_scale();
    model_.PlaceAll(q0, &start_);
    wrenches_.assign(6 * std::size_t(model_.num_bodies()), 0.0);
    for (const BlockForce& force : inputs.forces) {
      const int b = model_.bodies.body_of[force.frame];
      if (b < 0) continue;
      AddWrench(b, force.torque_W + (force.p_W - start_[b].p_WBcm).cross(force.force_W),
                force.force_W);
    }
    for (const ChannelEffort& on : inputs.efforts) AddJointForce(on.channel, on.effort);
    input_wrenches_.clear();
    if (!inputs.forces.empty() || !inputs.efforts.empty()) input_wrenches_ = wrenches_;

    std::fill(masses_.begin(), masses_.end(), 0.0);
    std::fill(v_star_.begin(), v_star_.end(), 0.0);
    for (int b = 0; b < model_.num_bodies(); ++b) {
      const TreeBody& body = model_.bodies.bodies[b];
      const Matrix3d& R = start_[b].X_WB.R;
      const Matrix3d I_W = R * body.inertia * R.transpose();
      Eigen::Map<Eigen::Matrix<double, 6, 6>> A(&masses_[36 * std::size_t(b)]);
      A.topLeftCorner<3, 3>() = I_W;
      A.bottomRightCorner<3, 3>() = body.mass * Matrix3d::Identity();

      AddWrench(b, (R * body.weight_center).cross(inputs.gravity), body.weight * inputs.gravity);
      const int first = model_.velocity(b);
      const Vector3d omega = VectorAt(v0, first);
      const Vector3d L = I_W * omega + impulse * VectorAt(wrenches_, 6 * b);
      const Vector3d turned = SolveAngularVelocity(body.inertia, R, L, h, omega);
      const Vector3d moved =
          VectorAt(v0, first + 3) + impulse / body.mass * VectorAt(wrenches_, 6 * b + 3);
      for (int r = 0; r < 3; ++r) {
        v_star_[first + r] = turned[r];
        v_star_[first + 3 + r] = moved[r];
      }
    }
    model_.ReadJointVelocities(start_, v_star_);
    for (const double v : v_star_) {
      if (!std::isfinite(v)) return absl::InternalError("its free motion is not finite");
    }
    return absl::OkStatus();
  }

  void Complete(std::span<const double> v_p, std::span<double> v) const override {
    for (std::size_t k = 0; k < participants_.size(); ++k)
      std::copy_n(&v_p[6 * k], 6, &v[model_.velocity(participants_[k])]);
    model_.ReadJointVelocities(start_, v);
  }
  void MultiplyTangent(std::span<const double> x, std::span<double> y) const override {
    std::fill(y.begin(), y.end(), 0.0);
    for (int b = 0; b < model_.num_bodies(); ++b) {
      const int first = model_.velocity(b);
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) y[first + i] += masses_[36 * b + 6 * j + i] * x[first + j];
    }
  }
  void CalcTangentDiagonal(std::span<double> diagonal) const override {
    std::fill(diagonal.begin(), diagonal.end(), 1.0);
    for (int b = 0; b < model_.num_bodies(); ++b)
      for (int i = 0; i < 6; ++i) diagonal[model_.velocity(b) + i] = masses_[36 * b + 7 * i];
  }
  void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) override {
    std::vector<double> change(v.begin(), v.end());
    for (std::size_t i = 0; i < change.size(); ++i) change[i] -= v_star_[i];
    MultiplyTangent(change, residual);
  }
  double CalcInputWork(std::span<const double> v) override {
    double sum = 0;
    for (std::size_t i = 0; i < input_wrenches_.size(); ++i) {
      const std::size_t at = model_.velocity(static_cast<int>(i / 6)) + i % 6;
      sum += input_wrenches_[i] * (v0_[at] + v[at]);
    }
    return 0.5 * stage_.impulse_scale() * sum;
  }

  void AppendRows(const Attachment& attachment, BlockRows* rows) const override {
    const int b = model_.bodies.body_of[attachment.frame];
    if (b < 0) return;
    Eigen::Map<Eigen::Matrix<double, 3, 6>> J(rows->Append(b, 6));
    J.leftCols<3>() = -CrossMatrix(attachment.p_W - start_[b].p_WBcm);
    J.rightCols<3>().setIdentity();
  }
  void AppendAngularRows(const Attachment& attachment, BlockRows* rows) const override {
    const int b = model_.bodies.body_of[attachment.frame];
    if (b < 0) return;
    Eigen::Map<Eigen::Matrix<double, 3, 6>>(rows->Append(b, 6)).leftCols<3>().setIdentity();
  }
  bool AppendVelocityRow(int velocity, BlockRows* rows) const override {
    const int link = model_.tree.link_of_velocity(velocity);
    const int b = model_.bodies.body_of[link], up = model_.bodies.bodies[b].parent;
    SixRow parent, child;
    model_.CalcVelocityRow(model_.PlaceJoint(start_, b), b,
                           velocity - model_.tree.velocity_start(link), &parent, &child);
    const auto append = [&](int body, const SixRow& row) {
      double* J = rows->Append(body, 6);
      for (int i = 0; i < 6; ++i) J[3 * i] = row[i];
    };
    if (up >= 0) append(up, parent);
    append(b, child);
    return true;
  }
  // Jacobian of the tree at the joint positions.
  void AppendJointRows(const Attachment& attachment, BlockRows* angular,
                       BlockRows* linear) const override {
    const int n = model_.num_joint_velocities;
    model_.tree.CalcPositions(q0_.first(model_.num_joint_positions), &kinematics_);
    model_.tree.CalcJacobian(kinematics_, attachment.frame, attachment.p_W, jacobian_);
    double* of_turn = angular->Append(0, n);
    double* of_point = linear->Append(0, n);
    for (int j = 0; j < n; ++j) {
      for (int r = 0; r < 3; ++r) {
        of_turn[3 * j + r] = jacobian_[6 * std::size_t(j) + r];
        of_point[3 * j + r] = jacobian_[6 * std::size_t(j) + 3 + r];
      }
    }
  }
  void AppendConstraints(int block, ConstraintSet* constraints) const override {
    AppendStops(block, model_.stops, stage_.h, q0_, v0_, v_star_, constraints);
    // springs, dampers and rotors of joints; a rotor's inertia is a damper about its initial speed
    for (int i = 0; i < model_.num_joint_velocities; ++i) {
      const int link = model_.tree.link_of_velocity(i);
      const Joint& joint = model_.tree.links()[link].joint;
      const double rotor = joint.rotor_inertia * joint.gear_ratio * joint.gear_ratio / stage_.h;
      const auto [k, d] = model_.laws[i];
      if (!(k > 0) && !(d + rotor > 0)) continue;
      ConstraintRow& row = AddVelocityRow(block, i, 1, constraints);
      row.source = ConstraintSource::kDryFriction;
      row.stiffness = k;
      row.damping = d + rotor;
      row.feedforward = rotor * v0_[i];
      if (k > 0)
        row.error = CalcSpringError(model_.tree, link, i - model_.tree.velocity_start(link), q0_);
    }
  }
  void CalcGravityCompensation(std::span<double> force) const override {
    std::fill(force.begin(), force.end(), 0.0);
    const int n = model_.num_joint_velocities;
    at_rest_.assign(n, 0.0);
    model_.tree.CalcPositions(q0_.first(model_.num_joint_positions), &kinematics_);
    model_.tree.CalcVelocities(at_rest_, &kinematics_);
    model_.tree.CalcBias(kinematics_, gravity_, force.first(n));
  }
  void Integrate(std::span<const double> v, MutableBlockState state) const override {
    std::copy(v.begin(), v.end(), state.v.begin());
    Move(v, &end_);
    for (int b = 0; b < model_.num_bodies(); ++b) {
      const int first = model_.position(b);
      const Quaterniond rotation = UnitQuaternion(end_[b].X_WB.R);
      const double values[] = {rotation.w(),      rotation.x(),       rotation.y(),
                               rotation.z(),      end_[b].p_WBcm.x(), end_[b].p_WBcm.y(),
                               end_[b].p_WBcm.z()};
      std::copy(std::begin(values), std::end(values), state.q.begin() + first);
    }
    // keep the joint velocities of Complete, for which the rotors' rows were solved
    model_.ReadJointPositions(end_, state.q);
  }

 private:
  std::span<const double> group_mass(int group) const override {
    return {&masses_[36 * std::size_t(group)], 36};
  }
  bool are_particles() const override { return false; }
  std::span<const Set> sets() const override { return sets_; }
  bool Evaluate(std::span<const double> v, std::span<const double> forces, std::span<double> J,
                std::span<double> E, std::span<double> error) override {
    Move(v, &end_);
    std::fill(E.begin(), E.end(), 0.0);
    std::fill(J.begin(), J.end(), 0.0);
    double sum = 0;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      double errors[6];
      std::pair<SixRow, SixRow> rows[6];
      const int count = model_.CalcRows(end_, q0_, set_body_[s], errors, rows);
      for (int r = 0; r < 6; ++r) {
        const std::size_t row = 6 * s + r;
        if (r >= count) {
          // unused row: no force
          E[36 * s + 7 * r] = 1;
          error[row] = forces[row];
          continue;
        }
        error[row] = errors[r];
        sum += 0.0 * errors[r];
        for (int i = 0; i < 6; ++i) {
          if (sets_[s][0] >= 0) J[12 * row + i] = rows[r].first[i];
          J[12 * row + 6 + i] = rows[r].second[i];
        }
      }
    }
    return sum == 0;
  }

  // poses at the end of the step, if the bodies move with the twists v
  void Move(std::span<const double> v, std::vector<BodyMotion>* motions) const {
    for (int b = 0; b < model_.num_bodies(); ++b) {
      const int first = model_.velocity(b);
      BodyMotion& motion = (*motions)[b];
      Quaterniond rotation = RotationFromVector(stage_.h * VectorAt(v, first)) *
                             RotationAt(q0_.subspan(model_.position(b)));
      rotation.coeffs() /= std::sqrt(rotation.squaredNorm());
      motion.X_WB.R = rotation.toRotationMatrix();
      motion.p_WBcm = VectorAt(q0_, model_.position(b) + 4) + stage_.h * VectorAt(v, first + 3);
      motion.X_WB.p = motion.p_WBcm - motion.X_WB.R * model_.bodies.bodies[b].p_BoBcm;
    }
  }
  void AddWrench(int body, const Vector3d& torque, const Vector3d& force) {
    for (int r = 0; r < 3; ++r) {
      wrenches_[6 * body + r] += torque[r];
      wrenches_[6 * body + 3 + r] += force[r];
    }
  }
  void AddJointForce(int velocity, double force) {
    const int link = model_.tree.link_of_velocity(velocity);
    const int b = model_.bodies.body_of[link], up = model_.bodies.bodies[b].parent;
    SixRow parent, child;
    model_.CalcVelocityRow(model_.PlaceJoint(start_, b), b,
                           velocity - model_.tree.velocity_start(link), &parent, &child);
    for (int i = 0; i < 6; ++i) {
      wrenches_[6 * b + i] += force * child[i];
      if (up >= 0) wrenches_[6 * up + i] += force * parent[i];
    }
  }

  const MaximalTree& model_;
  mutable TreeKinematics kinematics_;
  Stage stage_;
  Vector3d gravity_ = Vector3d::Zero();
  std::span<const double> q0_, v0_;  // of the base state
  std::vector<double> masses_, wrenches_;
  std::vector<double> input_wrenches_;  // of the inputs alone; empty: none
  std::vector<Set> sets_;
  std::vector<int> set_body_;
  std::vector<BodyMotion> start_;
  mutable std::vector<BodyMotion> end_;
  mutable std::vector<double> jacobian_, at_rest_;
};

class MaximalTreeBlock final : public DynamicsBlock, public FrameSet, public JointSet {
 public:
  explicit MaximalTreeBlock(JointTreeParameters parameters)
      : model_(std::move(parameters)),
        tree_(model_.tree),
        kinematics_([this] { return TreeKinematics(tree_); }) {}

  int num_positions() const override {
    return model_.num_joint_positions + 7 * model_.num_bodies();
  }
  int num_velocities() const override {
    return model_.num_joint_velocities + 6 * model_.num_bodies();
  }
  BlockAbilities abilities() const override { return {.frames = this, .joints = this}; }
  void SetInitialState(MutableBlockState state) const override {
    const std::span<double> q = state.q, v = state.v;
    const JointTreeParameters& p = model_.parameters;
    std::copy(p.q.begin(), p.q.end(), q.begin());
    std::copy(p.v.begin(), p.v.end(), v.begin());
    TreeKinematics& kinematics = At(state);
    for (int b = 0; b < model_.num_bodies(); ++b) {
      const TreeBody& body = model_.bodies.bodies[b];
      const RigidTransform X_WB = kinematics.link_pose(body.link);
      const Vector3d center = X_WB * body.p_BoBcm;
      const Vector3d omega = kinematics.angular_velocity(body.link);
      const Vector3d velocity = kinematics.CalcPointVelocity(body.link, center);
      WritePose(UnitQuaternion(X_WB.R), center, q.subspan(model_.position(b)));
      for (int r = 0; r < 3; ++r) {
        v[model_.velocity(b) + r] = omega[r];
        v[model_.velocity(b) + 3 + r] = velocity[r];
      }
    }
  }
  std::unique_ptr<BlockStep> NewStep() const override {
    return std::make_unique<MaximalTreeStep>(model_);
  }

  int num_frames() const override { return tree_.num_links(); }
  void CalcFrames(const BlockState& state, std::span<FrameMotion> frames) const override {
    PlaceFrames(model_, state.q, state.v, frames);
  }
  void CalcReactions(const BlockState& state, std::span<const double> vdot, const Vector3d& gravity,
                     std::span<const BlockForce> forces,
                     std::span<double> reactions) const override {
    std::vector<LinkWrench> wrenches;
    for (const BlockForce& force : forces)
      wrenches.push_back({force.frame, force.p_W, force.torque_W, force.force_W});
    tree_.CalcReactions(&At(state), gravity, vdot.first(model_.num_joint_velocities), wrenches,
                        reactions);
  }
  double mass(int) const override { return tree_.mass(); }
  Vector3d CalcCenterOfMass(const BlockState& state, int) const override {
    const std::span<const double> q = state.q;
    Vector3d sum = Vector3d::Zero();
    double mass = 0;
    for (int b = 0; b < model_.num_bodies(); ++b) {
      sum += model_.bodies.bodies[b].mass * VectorAt(q, model_.position(b) + 4);
      mass += model_.bodies.bodies[b].mass;
    }
    for (int i = 0; i < tree_.num_links(); ++i) {
      if (model_.bodies.body_of[i] >= 0) continue;
      sum += tree_.links()[i].mass * (model_.bodies.X_BL[i] * tree_.links()[i].p_BoBcm);
      mass += tree_.links()[i].mass;
    }
    return sum / mass;
  }
  Eigen::Matrix<double, 6, 1> CalcMomentum(const BlockState& state, int) const override {
    const std::span<const double> q = state.q, v = state.v;
    Eigen::Matrix<double, 6, 1> momentum = Eigen::Matrix<double, 6, 1>::Zero();
    for (int b = 0; b < model_.num_bodies(); ++b) {
      const TreeBody& body = model_.bodies.bodies[b];
      const BodyMotion motion = model_.Place(q, b);
      const Vector3d linear = body.mass * VectorAt(v, model_.velocity(b) + 3);
      momentum.head<3>() += linear;
      momentum.tail<3>() +=
          motion.p_WBcm.cross(linear) +
          motion.X_WB.R *
              (body.inertia * (motion.X_WB.R.transpose() * VectorAt(v, model_.velocity(b))));
    }
    return momentum;
  }
  Energies CalcEnergies(const BlockState& state, const Vector3d& gravity, int) const override {
    return {CalcKineticEnergy(state.q, state.v), CalcSpringEnergy(tree_, model_.laws, state.q),
            CalcPotentialEnergy(state.q, gravity)};
  }
  double CalcKineticEnergy(std::span<const double> q, std::span<const double> v) const {
    double energy = 0;
    for (int b = 0; b < model_.num_bodies(); ++b) {
      const TreeBody& body = model_.bodies.bodies[b];
      const Vector3d w = model_.Place(q, b).X_WB.R.transpose() * VectorAt(v, model_.velocity(b));
      energy += 0.5 * (body.mass * VectorAt(v, model_.velocity(b) + 3).squaredNorm() +
                       w.dot(body.inertia * w));
    }
    for (int i = 0; i < model_.num_joint_velocities; ++i) {
      const Joint& joint = tree_.links()[tree_.link_of_velocity(i)].joint;
      energy += 0.5 * joint.rotor_inertia * joint.gear_ratio * joint.gear_ratio * v[i] * v[i];
    }
    return energy;
  }
  double CalcPotentialEnergy(std::span<const double> q, const Vector3d& gravity) const {
    double energy = 0;
    for (int b = 0; b < model_.num_bodies(); ++b) {
      const TreeBody& body = model_.bodies.bodies[b];
      const BodyMotion motion = model_.Place(q, b);
      energy -= gravity.dot(body.weight * motion.p_WBcm + motion.X_WB.R * body.weight_center);
    }
    for (int i = 0; i < tree_.num_links(); ++i) {
      if (model_.bodies.body_of[i] >= 0) continue;
      const Link& link = tree_.links()[i];
      energy -= link.mass * gravity.dot(model_.bodies.X_BL[i] * link.p_BoBcm);
    }
    return energy;
  }
  double gravity_scale(int frame) const override { return tree_.links()[frame].gravity_scale; }
  double CalcDrift(const BlockState& state) const override {
    const std::span<const double> q = state.q;
    std::vector<BodyMotion>& motions = motions_.local();
    model_.PlaceAll(q, &motions);
    double drift = 0;
    for (int b = 0; b < model_.num_bodies(); ++b) {
      double errors[6];
      std::pair<SixRow, SixRow> rows[6];
      const int count = model_.CalcRows(motions, q, b, errors, rows);
      for (int r = 0; r < count; ++r) drift = std::max(drift, std::abs(errors[r]));
    }
    return drift;
  }

 private:
  TreeKinematics& At(const BlockState& state) const {
    TreeKinematics& kinematics = kinematics_.local();
    tree_.CalcPositions(state.q.first(model_.num_joint_positions), &kinematics);
    tree_.CalcVelocities(state.v.first(model_.num_joint_velocities), &kinematics);
    return kinematics;
  }

  MaximalTree model_;
  const JointTree& tree_;
  // per-thread scratch; its contents change no result
  mutable tbb::enumerable_thread_specific<TreeKinematics> kinematics_;
  mutable tbb::enumerable_thread_specific<std::vector<BodyMotion>> motions_;
};

}  // namespace

std::shared_ptr<const DynamicsBlock> MakeMaximalTreeBlock(JointTreeParameters parameters) {
  return std::make_shared<MaximalTreeBlock>(std::move(parameters));
}

std::string CheckMaximalTree(const JointTree& tree) {
  for (const TreeBody& body : FindBodies(tree).bodies) {
    const Link& link = tree.links()[body.link];
    if (!IsKnownJoint(link.joint.type)) {
      return absl::StrCat("joint \"", link.joint.name,
                          "\" is of a kind that was added: maximal coordinates have "
                          "no rows for it yet. Use coordinates: REDUCED");
    }
    const Eigen::Vector3d moments = body.inertia.diagonal();
    if (body.mass > 0 && moments.minCoeff() > 0) continue;
    return absl::StrCat("link \"", link.name, "\" moves and has no ",
                        body.mass > 0 ? "inertia" : "mass",
                        ", which maximal coordinates need of every link. Give it one in the "
                        "robot's file, or use coordinates: REDUCED");
  }
  return "";
}

}  // namespace pliant::physics
