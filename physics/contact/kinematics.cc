#include "physics/contact/kinematics.h"

#include <cmath>

#include "physics/contact/geometries/placed_shape.h"
#include "physics/contact/speculation.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Smallest rotation that takes the unit vector a to b; identity if they are nearly opposite.
Matrix3d CalcSmallestTurn(const Vector3d& a, const Vector3d& b) {
  const double cosine = a.dot(b);
  if (cosine < -0.999) return Matrix3d::Identity();
  const Matrix3d cross = CrossMatrix(a.cross(b));
  return Matrix3d::Identity() + cross + cross * cross / (1 + cosine);
}

// Axes along a triangle's first side and its normal; false for a triangle without area.
bool CalcTriad(const Vector3d& a, const Vector3d& b, const Vector3d& c, Matrix3d* triad) {
  const Vector3d side = b - a, normal = side.cross(c - a);
  const double length = std::sqrt(side.squaredNorm()), area = std::sqrt(normal.squaredNorm());
  if (!(length > 0) || !(area > 0)) return false;
  triad->col(0) = side / length;
  triad->col(2) = normal / area;
  triad->col(1) = triad->col(2).cross(triad->col(0));
  return true;
}

// Mean of two rotations.
Eigen::Quaterniond CalcMeanTurn(const Matrix3d& a, const Matrix3d& b) {
  Eigen::Quaterniond p(a), q(b);
  if (p.coeffs().dot(q.coeffs()) < 0) q.coeffs() = -q.coeffs();
  p.coeffs() += q.coeffs();
  p.coeffs() /= std::sqrt(p.coeffs().squaredNorm());
  return p;
}

// Rotation R_WB of the frame to which a side is fixed; identity if there is none.
Matrix3d FrameRotation(const Attachment& attachment, const TrialConfiguration& trial) {
  if (!attachment.is_on_frame()) return Matrix3d::Identity();
  return trial.frame(attachment.block, attachment.frame).X_WB.R;
}

Vector3d NodePosition(const Attachment& attachment, const TrialConfiguration& trial, int k) {
  return trial.position(attachment.block, attachment.nodes.node(k));
}

bool CalcTriad(const Attachment& attachment, const TrialConfiguration& trial, Matrix3d* triad) {
  return CalcTriad(NodePosition(attachment, trial, 0), NodePosition(attachment, trial, 1),
                   NodePosition(attachment, trial, 2), triad);
}

// A cylinder rolls on its rim if the sine of the angle between its axis and the normal is at least
// this. For smaller angles, the contact point would run around the rim.
constexpr double kMinRimSine = 0.1;
// Cosine of the largest angle, in the plane of the rim, between the normal and the direction to the
// contact point for which the contact is one of the rim.
constexpr double kAtRim = 0.999;

// One side where the contact was found, and its shape if it has one.
struct ShapeSide {
  Matrix3d R_WF = Matrix3d::Identity();  // of the frame
  const Shape* shape = nullptr;
  Matrix3d R_WS = Matrix3d::Identity();
  SurfaceKind kind;
  double radius = 0;                  // of a shape or a point
  Vector3d radii = Vector3d::Zero();  // see ContactKinematics::Side
};

// Semi-axes of the ellipsoid that a shape's surface is a part of, at p_S with the outward normal
// n_S; zero if it is none.
Vector3d FindRadii(const Geometry& geometry, const SurfaceKind& kind, const Vector3d& p_S,
                   const Vector3d& n_S) {
  if (const auto* ellipsoid = std::get_if<Ellipsoid>(&geometry)) return ellipsoid->radii;
  const auto* cylinder = std::get_if<Cylinder>(&geometry);
  if (cylinder == nullptr) return Vector3d::Constant(kind.radius);
  if (kind.face > 0) return Vector3d::Zero();
  const Vector3d outward(n_S.x(), n_S.y(), 0), arm(p_S.x(), p_S.y(), 0);
  const double sine = std::sqrt(outward.squaredNorm()), length = std::sqrt(arm.squaredNorm());
  const bool is_met = sine > kMinRimSine && outward.dot(arm) > kAtRim * sine * length;
  return is_met ? Vector3d(cylinder->radius, cylinder->radius, 0) : Vector3d(Vector3d::Zero());
}

ShapeSide FindShapeSide(const Model& model, const Attachment& attachment,
                        const ContactFeature& feature, int body_index, double time_ahead,
                        const Vector3d& outward, const TrialConfiguration& start) {
  ShapeSide side;
  const Body& body = model.bodies[body_index];
  RigidTransform X_WB = body.X_WB, to_start;
  if (attachment.is_on_frame()) {
    const FrameMotion& frame = start.frame(attachment.block, attachment.frame);
    X_WB = time_ahead > 0 ? Advance(frame, time_ahead) : frame.X_WB;
    side.R_WF = X_WB.R;
    to_start = frame.X_WB * X_WB.Inverse();
  }
  if (feature.kind == ContactFeature::Kind::kPoint) {
    side.radius = body.points.radii[feature.index];
    side.radii.setConstant(side.radius);
  }
  if (feature.kind != ContactFeature::Kind::kShape) return side;
  side.shape = &body.shapes[feature.index];
  const RigidTransform X_WS = X_WB * side.shape->X_BS;
  side.R_WS = X_WS.R;
  const Vector3d n_S = side.R_WS.transpose() * outward,
                 p_S = (to_start * X_WS).Inverse() * attachment.p_W;
  side.kind = DescribeSurface(side.shape->geometry, n_S);
  side.radius = side.kind.radius;
  side.radii = FindRadii(side.shape->geometry, side.kind, p_S, n_S);
  return side;
}

// Point of an ellipsoid where its outward normal is n, from its centre; all in its axes.
Vector3d CalcSupport(const Vector3d& radii, const Vector3d& n) {
  if (radii.isZero(0)) return Vector3d::Zero();
  const Vector3d scaled = radii.cwiseProduct(n);
  const double norm = std::sqrt(scaled.squaredNorm());
  return norm > 0 ? Vector3d(radii.cwiseProduct(scaled) / norm) : Vector3d(Vector3d::Zero());
}

// Direction in W of a box edge across the normal; zero if there is none.
Vector3d FindEdge(const ShapeSide& side, const Vector3d& outward) {
  if (side.shape == nullptr || !std::holds_alternative<Box>(side.shape->geometry))
    return Vector3d::Zero();
  int axis = 0;
  const double along = (side.R_WS.transpose() * outward).cwiseAbs().minCoeff(&axis);
  return along < 1e-6 ? Vector3d(side.R_WS.col(axis)) : Vector3d::Zero();
}

}  // namespace

ContactKinematics::ContactKinematics(const Model& model, const ContactPoint& contact,
                                     const TrialConfiguration& start)
    : contact_(&contact),
      R_WC_(contact.R_WC),
      gap_(contact.gap - contact.R_WC.col(2).dot(contact.b.p_W - contact.a.p_W)) {
  const Vector3d n = contact.R_WC.col(2);
  const ShapeSide of_a = FindShapeSide(model, contact.a, contact.feature_a, contact.body_a,
                                       contact.time_ahead, n, start);
  const ShapeSide of_b = FindShapeSide(model, contact.b, contact.feature_b, contact.body_b,
                                       contact.time_ahead, -n, start);
  const auto is_triangle = [](const Attachment& side, const ContactFeature& feature) {
    return feature.kind == ContactFeature::Kind::kSurface && side.nodes.size() >= 3;
  };
  const bool is_triangle_a = is_triangle(contact.a, contact.feature_a),
             is_triangle_b = is_triangle(contact.b, contact.feature_b);
  if (of_a.kind.face > 0 || of_b.kind.face > 0) {
    source_ = of_a.kind.face >= of_b.kind.face ? NormalSource::kA : NormalSource::kB;
  } else if (is_triangle_a || is_triangle_b) {
    source_ = is_triangle_a ? NormalSource::kA : NormalSource::kB;
  } else if (of_a.radius + of_b.radius > 0) {
    source_ = NormalSource::kBetween;
    // the axis of a rod matters against nodes only: two crossing rods touch as balls do
    const auto axis_of = [](const ShapeSide& side) {
      return Vector3d(side.R_WF.transpose() * (side.R_WS * side.kind.axis_S));
    };
    if (of_b.shape == nullptr && of_a.shape != nullptr) a_.axis = axis_of(of_a);
    if (of_a.shape == nullptr && of_b.shape != nullptr) b_.axis = axis_of(of_b);
  } else if (of_a.shape != nullptr && of_b.shape != nullptr) {
    const Vector3d edge_a = FindEdge(of_a, n), edge_b = FindEdge(of_b, n);
    const bool are_edges =
        !edge_a.isZero(0) && !edge_b.isZero(0) && edge_a.cross(edge_b).squaredNorm() > 1e-4;
    source_ = are_edges ? NormalSource::kEdges : NormalSource::kBoth;
    if (are_edges) {
      a_.edge = of_a.R_WF.transpose() * edge_a;
      b_.edge = of_b.R_WF.transpose() * edge_b;
    }
  } else if (of_a.shape != nullptr || of_b.shape != nullptr) {
    source_ = of_a.shape != nullptr ? NormalSource::kA : NormalSource::kB;
  } else if (contact.a.nodes.size() == 2 && contact.b.nodes.size() == 2) {
    source_ = NormalSource::kEdges;
  }

  // with the normal along the line of centres, round sides are balls
  const bool are_balls = source_ == NormalSource::kBetween;
  const auto complete = [&](const ShapeSide& of, const Attachment& attachment,
                            const Vector3d& outward, bool is_triangle, Side* side) {
    side->radii = are_balls ? Vector3d(Vector3d::Constant(of.radius)) : of.radii;
    if (of.shape != nullptr) side->R_FE = of.R_WF.transpose() * of.R_WS;
    CompleteSide(attachment, outward, of.R_WF, is_triangle, start, side);
  };
  complete(of_a, contact.a, n, is_triangle_a, &a_);
  complete(of_b, contact.b, -n, is_triangle_b, &b_);
}

// `R_WF`: rotation of the frame where the contact was found.
void ContactKinematics::CompleteSide(const Attachment& attachment, const Vector3d& outward,
                                     const Matrix3d& R_WF, bool is_triangle,
                                     const TrialConfiguration& start, Side* side) const {
  const Vector3d outward_E = side->R_FE.transpose() * (R_WF.transpose() * outward),
                 arm_F = side->R_FE * CalcSupport(side->radii, outward_E);
  if (attachment.is_on_frame()) {
    const RigidTransform& X_WB = start.frame(attachment.block, attachment.frame).X_WB;
    side->core = X_WB.Inverse() * attachment.p_W - arm_F;
    side->core_start = X_WB * side->core;
    side->triad = R_WF;
    side->has_triad = true;
    return;
  }
  side->core = side->core_start = attachment.p_W - arm_F;
  if (attachment.block == kWorldBlock) return;
  for (int k = 0; k < attachment.nodes.size(); ++k) {
    side->core -=
        attachment.nodes.weight(k) * start.position(attachment.block, attachment.nodes.node(k));
  }
  if (is_triangle) side->has_triad = CalcTriad(attachment, start, &side->triad);
}

Matrix3d ContactKinematics::CalcTurn(const Side& side, const Attachment& attachment,
                                     const TrialConfiguration& trial) const {
  if (!side.has_triad) return Matrix3d::Identity();
  Matrix3d triad;
  if (attachment.nodes.empty()) {
    triad = FrameRotation(attachment, trial);
  } else if (!CalcTriad(attachment, trial, &triad)) {
    return Matrix3d::Identity();
  }
  return triad * side.triad.transpose();
}

Vector3d ContactKinematics::PlaceEdge(const Side& side, const Attachment& attachment,
                                      const TrialConfiguration& trial) const {
  if (attachment.nodes.size() == 2)
    return NodePosition(attachment, trial, 1) - NodePosition(attachment, trial, 0);
  return FrameRotation(attachment, trial) * side.edge;
}

Vector3d ContactKinematics::CalcCentreLine(const TrialConfiguration& trial, const Vector3d& core_A,
                                           const Vector3d& core_B) const {
  Vector3d line = core_B - core_A;
  for (const bool is_a : {true, false}) {
    const Side& side = is_a ? a_ : b_;
    if (side.axis.isZero(0)) continue;
    const Vector3d axis = FrameRotation(is_a ? contact_->a : contact_->b, trial) * side.axis;
    line -= axis.dot(line) * axis;
  }
  return line;
}

Matrix3d ContactKinematics::CalcFrame(const TrialConfiguration& trial, const Vector3d& core_A,
                                      const Vector3d& core_B) const {
  const ContactPoint& contact = *contact_;
  const auto turn_onto = [&](const Vector3d& n) -> Matrix3d {
    return CalcSmallestTurn(R_WC_.col(2), n) * R_WC_;
  };
  switch (source_) {
    case NormalSource::kFixed:
      return R_WC_;
    case NormalSource::kA:
      return CalcTurn(a_, contact.a, trial) * R_WC_;
    case NormalSource::kB:
      return CalcTurn(b_, contact.b, trial) * R_WC_;
    case NormalSource::kBoth:
      return CalcMeanTurn(CalcTurn(a_, contact.a, trial), CalcTurn(b_, contact.b, trial))
                 .toRotationMatrix() *
             R_WC_;
    case NormalSource::kEdges: {
      Vector3d n = PlaceEdge(a_, contact.a, trial).cross(PlaceEdge(b_, contact.b, trial));
      const double norm = std::sqrt(n.squaredNorm());
      if (!(norm > 0)) return R_WC_;
      n /= norm;
      if (n.dot(R_WC_.col(2)) < 0) n = -n;
      return turn_onto(n);
    }
    case NormalSource::kBetween: {
      const Vector3d line = CalcCentreLine(trial, core_A, core_B);
      // once the centres have passed each other, keep the initial normal
      if (!(line.dot(R_WC_.col(2)) > 0)) return R_WC_;
      return turn_onto(line / std::sqrt(line.squaredNorm()));
    }
  }
  return R_WC_;
}

PlacedContact ContactKinematics::Place(const TrialConfiguration& trial) const {
  const ContactPoint& contact = *contact_;
  const auto place_core = [&](const Side& side, const Attachment& attachment) -> Vector3d {
    if (attachment.block == kWorldBlock) return side.core;
    if (attachment.nodes.empty())
      return trial.frame(attachment.block, attachment.frame).X_WB * side.core;
    Vector3d core = side.core;
    for (int k = 0; k < attachment.nodes.size(); ++k)
      core += attachment.nodes.weight(k) * NodePosition(attachment, trial, k);
    return core;
  };
  PlacedContact placed;
  placed.core_A = place_core(a_, contact.a);
  placed.core_B = place_core(b_, contact.b);
  placed.R_WC = CalcFrame(trial, placed.core_A, placed.core_B);
  const Vector3d n = placed.R_WC.col(2);
  const auto arm_of = [&](const Side& side, const Attachment& attachment,
                          const Vector3d& outward) -> Vector3d {
    const Matrix3d R_WE = FrameRotation(attachment, trial) * side.R_FE;
    return R_WE * CalcSupport(side.radii, R_WE.transpose() * outward);
  };
  placed.p_A = placed.core_A + arm_of(a_, contact.a, n);
  placed.p_B = placed.core_B + arm_of(b_, contact.b, -n);
  placed.gap = gap_ + n.dot(placed.p_B - placed.p_A);
  return placed;
}

PlacedContact ContactKinematics::Differentiate(const TrialConfiguration& trial,
                                               ContactDerivatives* derivatives) const {
  const PlacedContact placed = Place(trial);
  ContactDerivatives& d = *derivatives;
  const Vector3d n = placed.R_WC.col(2);
  // cores, and rotations of triangles and edges of nodes
  ContactDerivatives::Columns core_A, core_B;
  core_A.setZero();
  core_B.setZero();
  for (const bool is_a : {true, false}) {
    const Side& side = is_a ? a_ : b_;
    const Attachment& attachment = is_a ? contact_->a : contact_->b;
    const int first = is_a ? 0 : 6;
    if (attachment.block != kWorldBlock) {
      ContactDerivatives::Columns& core = is_a ? core_A : core_B;
      core.middleCols<3>(first + 3).setIdentity();
      if (attachment.nodes.empty())
        core.middleCols<3>(first) =
            -CrossMatrix(trial.frame(attachment.block, attachment.frame).X_WB.R * side.core);
    }
    DifferentiateTurn(side, attachment, trial, &d.turns[is_a ? 0 : 1]);
  }
  DifferentiateNormal(trial, placed, core_A, core_B, &d.normal);

  // an arm is G n / √(nᵀ G n), with the squares of the semi-axes in G
  const auto add_arm = [&](const Side& side, const Attachment& attachment, double sign, int first,
                           ContactDerivatives::Columns* p) {
    if (side.radii.isZero(0)) return;
    if (side.radii.x() == side.radii.y() && side.radii.y() == side.radii.z()) {
      *p += sign * side.radii.x() * d.normal;
      return;
    }
    const Matrix3d R_WE = FrameRotation(attachment, trial) * side.R_FE;
    const Matrix3d G = R_WE * side.radii.cwiseAbs2().asDiagonal() * R_WE.transpose();
    const Vector3d Gn = G * n;
    const double s = std::sqrt(n.dot(Gn));
    if (!(s > 0)) return;
    ContactDerivatives::Columns change = G * d.normal;
    // θ × (G n) − G (θ × n)
    change.middleCols<3>(first) += G * CrossMatrix(n) - CrossMatrix(Gn);
    Eigen::Matrix<double, 1, 12> along = n.transpose() * change + Gn.transpose() * d.normal;
    *p += sign * (change / s - Gn * along / (2 * s * s * s));
  };
  d.p_A = core_A;
  d.p_B = core_B;
  add_arm(a_, contact_->a, 1, 0, &d.p_A);
  add_arm(b_, contact_->b, -1, 6, &d.p_B);
  d.gap = (placed.p_B - placed.p_A).transpose() * d.normal + n.transpose() * (d.p_B - d.p_A);
  return placed;
}

// Rotation of the triangle or the edge of a side by the displacements of its nodes.
void ContactKinematics::DifferentiateTurn(const Side& side, const Attachment& attachment,
                                          const TrialConfiguration& trial,
                                          ContactDerivatives::Turn* turn) const {
  turn->num_nodes = 0;
  if (attachment.block == kWorldBlock || attachment.nodes.empty()) return;
  if (source_ == NormalSource::kEdges && attachment.nodes.size() == 2) {
    const Vector3d edge = PlaceEdge(side, attachment, trial);
    turn->num_nodes = 2;
    turn->of_node[1] = CrossMatrix(edge / edge.squaredNorm());
    turn->of_node[0] = -turn->of_node[1];
    return;
  }
  Matrix3d triad;
  if (!side.has_triad || !CalcTriad(attachment, trial, &triad)) return;
  // with the sides s and t, N = s × t and the axes i along s and k along N, the rotation is
  // k × dk + k (di · j)
  const Vector3d a = NodePosition(attachment, trial, 0), s = NodePosition(attachment, trial, 1) - a,
                 t = NodePosition(attachment, trial, 2) - a, k = triad.col(2);
  const double area = std::sqrt(s.cross(t).squaredNorm()), length = std::sqrt(s.squaredNorm());
  const Matrix3d by_normal = CrossMatrix(k) / area;  // k × dk, since k × k is zero
  turn->num_nodes = 3;
  turn->of_node[1] = -by_normal * CrossMatrix(t) + k * triad.col(1).transpose() / length;
  turn->of_node[2] = by_normal * CrossMatrix(s);
  turn->of_node[0] = -turn->of_node[1] - turn->of_node[2];
}

void ContactKinematics::DifferentiateNormal(const TrialConfiguration& trial,
                                            const PlacedContact& placed,
                                            const ContactDerivatives::Columns& core_A,
                                            const ContactDerivatives::Columns& core_B,
                                            ContactDerivatives::Columns* normal) const {
  normal->setZero();
  const Vector3d n = placed.R_WC.col(2);
  const Matrix3d turned = -CrossMatrix(n);  // θ × n
  const auto derive_direction = [&](const Vector3d& v, const ContactDerivatives::Columns& change) {
    const double norm = std::sqrt(v.squaredNorm()), sign = v.dot(n) < 0 ? -1 : 1;
    if (norm > 0) *normal = sign / norm * (change - n * (n.transpose() * change));
  };
  switch (source_) {
    case NormalSource::kFixed:
      return;
    case NormalSource::kA:
      if (a_.has_triad) normal->leftCols<3>() = turned;
      return;
    case NormalSource::kB:
      if (b_.has_triad) normal->middleCols<3>(6) = turned;
      return;
    case NormalSource::kBoth: {
      // the quaternion of the mean is m = (p + q)/|p + q|; a rotation θ of p turns it by
      // θ/2 + θ × v/|p + q|, with the vector v of p m⁻¹
      const Matrix3d turn_A = CalcTurn(a_, contact_->a, trial),
                     turn_B = CalcTurn(b_, contact_->b, trial);
      const Eigen::Quaterniond mean = CalcMeanTurn(turn_A, turn_B);
      for (const bool is_a : {true, false}) {
        if (!(is_a ? a_ : b_).has_triad) continue;
        Eigen::Quaterniond part = Eigen::Quaterniond(is_a ? turn_A : turn_B) * mean.conjugate();
        if (part.w() < 0) part.coeffs() = -part.coeffs();
        normal->middleCols<3>(is_a ? 0 : 6) =
            turned * (0.5 * Matrix3d::Identity() - CrossMatrix(part.vec()) / (2 * part.w()));
      }
      return;
    }
    case NormalSource::kEdges: {
      const Vector3d a = PlaceEdge(a_, contact_->a, trial), b = PlaceEdge(b_, contact_->b, trial);
      ContactDerivatives::Columns change = ContactDerivatives::Columns::Zero();
      change.leftCols<3>() = CrossMatrix(b) * CrossMatrix(a);      // (θ × a) × b
      change.middleCols<3>(6) = -CrossMatrix(a) * CrossMatrix(b);  // a × (θ × b)
      derive_direction(a.cross(b), change);
      return;
    }
    case NormalSource::kBetween: {
      Vector3d line = placed.core_B - placed.core_A;
      ContactDerivatives::Columns change = core_B - core_A;
      for (const bool is_a : {true, false}) {
        const Side& side = is_a ? a_ : b_;
        if (side.axis.isZero(0)) continue;
        const Vector3d axis = FrameRotation(is_a ? contact_->a : contact_->b, trial) * side.axis;
        ContactDerivatives::Columns of_axis = ContactDerivatives::Columns::Zero();
        of_axis.middleCols<3>(is_a ? 0 : 6) = -CrossMatrix(axis);
        const double along = axis.dot(line);
        change -= along * of_axis +
                  axis * (line.transpose() * of_axis + axis.transpose() * change).eval();
        line -= along * axis;
      }
      if (line.dot(R_WC_.col(2)) > 0) derive_direction(line, change);
      return;
    }
  }
}

Vector3d ContactKinematics::CalcRelativeVelocity(const TrialConfiguration& trial,
                                                 const PlacedContact& placed) const {
  const auto velocity_of = [&](const Attachment& side, const Vector3d& p_W) {
    Vector3d v = Vector3d::Zero();
    if (side.block == kWorldBlock) return v;
    if (side.nodes.empty()) return trial.frame(side.block, side.frame).CalcPointVelocity(p_W);
    for (int k = 0; k < side.nodes.size(); ++k)
      v += side.nodes.weight(k) * trial.velocity(side.block, side.nodes.node(k));
    return v;
  };
  return velocity_of(contact_->b, placed.p_B) - velocity_of(contact_->a, placed.p_A);
}

Eigen::Matrix<double, 3, 6> CalcPointJacobian(const RigidTransform& X_WB, const Vector3d& p_W) {
  Eigen::Matrix<double, 3, 6> J;
  J.leftCols<3>() = -CrossMatrix(p_W - X_WB.p);
  J.rightCols<3>() = Matrix3d::Identity();
  return J;
}

}  // namespace pliant::physics
