#include "physics/contact/constraint_rows.h"

#include <cmath>
#include <limits>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Attaches a constraint to a node of a body, or to its frame if `node` is negative. A negative body
// is the world.
Attachment Attach(const Model& model, int body, int node, const Vector3d& p_W) {
  Attachment attachment;
  attachment.p_W = p_W;
  if (body < 0) return attachment;
  attachment.block = model.bodies[body].block;
  if (node < 0) {
    attachment.frame = model.bodies[body].frame;
  } else {
    attachment.nodes.Add(node, 1);
  }
  return attachment;
}

RigidTransform Place(const BodyMotions& motions, int body, const RigidTransform& X_BF) {
  return body < 0 ? X_BF : motions[body].X_WB * X_BF;
}

// A rotation that takes the unit vector a to the unit vector b.
Eigen::Matrix3d RotationBetween(const Vector3d& a, const Vector3d& b) {
  // a half turn about a, then one about the middle of a and b, or a normal if they are opposite
  Vector3d middle = a + b;
  if (!(middle.squaredNorm() > 1e-12))
    middle = a.cross(Vector3d::Unit(std::abs(a.x()) < 0.5 ? 0 : 1));
  const Eigen::Matrix3d half =
      2 * middle * middle.transpose() / middle.squaredNorm() - Eigen::Matrix3d::Identity();
  return half * (2 * a * a.transpose() - Eigen::Matrix3d::Identity());
}

// Rotation vector from F to G, in W.
Vector3d CalcTurn(const RigidTransform& X_WF, const RigidTransform& X_WG) {
  Eigen::Quaterniond rotation(Eigen::Matrix3d(X_WG.R * X_WF.R.transpose()));
  rotation.coeffs() /= std::sqrt(rotation.squaredNorm());
  return VectorFromRotation(rotation);
}

// Radius at which a weld that corrects an angular error moves with the recovery speed [m].
constexpr double kRecoveryRadius = 0.1;

double CalcSpinSquared(const BodyMotions& motions, int body) {
  return body < 0 ? 0 : motions[body].omega_W.squaredNorm();
}
// Centripetal acceleration of a point of a body [m/s²].
double CalcCentripetal(const BodyMotions& motions, int body, const Vector3d& p_W) {
  if (body < 0) return 0;
  return CalcSpinSquared(motions, body) * std::sqrt((p_W - motions[body].X_WB.p).squaredNorm());
}

class Rows {
 public:
  Rows(const Model& model, int index, ConstraintSet* constraints)
      : model_(model), constraint_(model.constraints[index]), index_(index), set_(*constraints) {}

  // Limits the rate at which errors of rows added later are corrected.
  void LimitRecovery(double rate) {
    if (std::isinf(constraint_.stiffness)) recovery_rate_ = rate;
  }

  void Add(double error) {
    ConstraintRow& row = set_.AddRow();
    row.error = error;
    row.recovery_rate = recovery_rate_;
    row.stiffness = constraint_.stiffness;
    row.damping = constraint_.damping;
    row.source = ConstraintSource::kConstraint;
    row.index = index_;
  }
  // Adds a row for the rate of p_G − p_F along `direction`.
  void AddPoints(const RigidTransform& X_WF, const RigidTransform& X_WG, const Vector3d& direction,
                 double error) {
    Add(error);
    for (const bool is_a : {true, false}) {
      ConstraintTerm& term = set_.AddTerm();
      term.attachment = is_a ? Attach(model_, constraint_.body_a, -1, X_WF.p)
                             : Attach(model_, constraint_.body_b, constraint_.node_b, X_WG.p);
      term.linear_W = is_a ? -direction : direction;
    }
  }
  // Adds a row for the angular velocity of G relative to F about `direction`.
  void AddTurn(const Vector3d& direction, double error) {
    Add(error);
    for (const bool is_a : {true, false}) {
      ConstraintTerm& term = set_.AddTerm();
      term.attachment =
          Attach(model_, is_a ? constraint_.body_a : constraint_.body_b, -1, Vector3d::Zero());
      term.angular_W = is_a ? -direction : direction;
    }
  }
  void AddJoints(const State& state) {
    double error = -constraint_.offset;
    for (const Constraint::JointTerm& term : constraint_.joints) {
      const RobotJoint& joint = model_.robots[term.robot].joints[term.joint];
      error += term.factor * model_.Positions(state, joint.block)[joint.position];
    }
    Add(error);
    for (const Constraint::JointTerm& term : constraint_.joints) {
      const RobotJoint& joint = model_.robots[term.robot].joints[term.joint];
      ConstraintTerm& part = set_.AddTerm();
      part.attachment.block = joint.block;
      part.velocity = joint.velocity;
      part.factor = term.factor;
    }
  }

 private:
  const Model& model_;
  const Constraint& constraint_;
  int index_;
  ConstraintSet& set_;
  double recovery_rate_ = std::numeric_limits<double>::infinity();
};

}  // namespace

void AppendModelConstraints(const Model& model, const State& state, const BodyMotions& motions,
                            double h, const std::function<bool(int block)>& is_awake,
                            ConstraintSet* constraints) {
  const auto is_body_awake = [&](int body) {
    return body < 0 || model.bodies[body].block == kWorldBlock ||
           is_awake(model.bodies[body].block);
  };
  for (std::size_t i = 0; i < model.constraints.size(); ++i) {
    const Constraint& constraint = model.constraints[i];
    if (constraint.kind == Constraint::Kind::kVolume) continue;  // part of the body's potential
    bool awake = is_body_awake(constraint.body_a) && is_body_awake(constraint.body_b);
    for (const Constraint::JointTerm& term : constraint.joints)
      awake = awake && is_awake(model.robots[term.robot].joints[term.joint].block);
    if (!awake) continue;
    Rows rows(model, static_cast<int>(i), constraints);
    if (constraint.kind == Constraint::Kind::kCoupler ||
        constraint.kind == Constraint::Kind::kJointSpring) {
      rows.AddJoints(state);
      continue;
    }
    const RigidTransform X_WF = Place(motions, constraint.body_a, constraint.X_AF);
    RigidTransform X_WG;
    if (constraint.node_b < 0) {
      X_WG = Place(motions, constraint.body_b, constraint.X_BG);
    } else {
      const int block = model.bodies[constraint.body_b].block;
      X_WG.p = Vector3d::Map(&model.Positions(state, block)[3 * std::size_t(constraint.node_b)]);
    }
    // limit the rate of correction for frames, not for nodes; rotating frames add a centripetal
    // error in every step
    const double speed = model.contact.recovery_speed;
    const bool is_limited = constraint.node_b < 0 && speed > 0;
    if (is_limited) {
      rows.LimitRecovery(speed + h * (CalcCentripetal(motions, constraint.body_a, X_WF.p) +
                                      CalcCentripetal(motions, constraint.body_b, X_WG.p)));
    }
    const Vector3d offset = X_WG.p - X_WF.p;
    if (constraint.kind == Constraint::Kind::kDistance) {
      const double distance = std::sqrt(offset.squaredNorm());
      const Vector3d direction =
          distance > 0 ? Vector3d(offset / distance) : Vector3d(Vector3d::UnitZ());
      rows.AddPoints(X_WF, X_WG, direction, distance - constraint.length);
      continue;
    }
    for (int r = 0; r < 3; ++r) rows.AddPoints(X_WF, X_WG, Vector3d::Unit(r), offset[r]);
    if (constraint.kind != Constraint::Kind::kWeld) continue;
    const Vector3d turn = CalcTurn(X_WF, X_WG);
    if (is_limited) {
      rows.LimitRecovery(speed / kRecoveryRadius +
                         h * (CalcSpinSquared(motions, constraint.body_a) +
                              CalcSpinSquared(motions, constraint.body_b)));
    }
    for (int r = 0; r < 3; ++r) rows.AddTurn(Vector3d::Unit(r), turn[r]);
  }
}

void AppendSprings(const Model& model, const State& state, const BodyMotions& motions,
                   std::span<const Inputs::PointSpring> springs, ConstraintSet* constraints) {
  for (const Inputs::PointSpring& spring : springs) {
    const Body& body = model.bodies[spring.body];
    if (body.block == kWorldBlock) continue;
    int node = spring.node;
    Vector3d p_W;
    if (node < 0) {
      p_W = motions[spring.body].X_WB * spring.p_BP;
    } else {
      node += model.abilities_of(body).nodes->nodes_of(body.part).first;
      p_W = Vector3d::Map(&model.Positions(state, body.block)[3 * std::size_t(node)]);
    }
    const Vector3d offset = p_W - spring.p_WA;
    const double distance = std::sqrt(offset.squaredNorm());

    // rotate the axes so that the stretch is along their diagonal: the limits of the rows form a
    // cube inscribed in the sphere of the force limit, which it touches there
    const Vector3d stretch =
        distance > 0 ? Vector3d(offset / distance) : Vector3d(Vector3d::UnitZ());
    const double diagonal = std::sqrt(1.0 / 3);
    const Eigen::Matrix3d axes = RotationBetween(Vector3d::Constant(diagonal), stretch);
    for (int r = 0; r < 3; ++r) {
      ConstraintRow& row = constraints->AddRow();
      row.error = axes.col(r).dot(offset);
      row.stiffness = spring.stiffness;
      row.damping = spring.damping;
      row.lower = -diagonal * spring.force_limit;
      row.upper = diagonal * spring.force_limit;
      row.source = ConstraintSource::kSpring;
      row.index = spring.body;
      ConstraintTerm& term = constraints->AddTerm();
      term.attachment = Attach(model, spring.body, node, p_W);
      term.linear_W = axes.col(r);
    }
  }
}

}  // namespace pliant::physics
