#include "physics/contact/kinematics.h"

#include <cmath>

#include "physics/contact/geometries/placed_shape.h"
#include "physics/contact/speculation.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Smallest rotation that takes the unit vector a to b; identity if they are nearly opposite.
Matrix3d CalcLeastTurn(const Vector3d& a, const Vector3d& b) {
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

bool CalcTriad(const Attachment& attachment, const TrialConfiguration& at, Matrix3d* triad) {
  const NodeWeights& nodes = attachment.nodes;
  return CalcTriad(at.position(attachment.block, nodes.node(0)),
                   at.position(attachment.block, nodes.node(1)),
                   at.position(attachment.block, nodes.node(2)), triad);
}

// Mean of two rotations.
Matrix3d CalcMeanTurn(const Matrix3d& a, const Matrix3d& b) {
  Eigen::Quaterniond p(a), q(b);
  if (p.coeffs().dot(q.coeffs()) < 0) q.coeffs() = -q.coeffs();
  p.coeffs() += q.coeffs();
  p.coeffs() /= std::sqrt(p.coeffs().squaredNorm());
  return p.toRotationMatrix();
}

bool IsOnFrame(const Attachment& attachment) {
  return attachment.block != kWorldBlock && attachment.nodes.empty();
}

// Rotation R_WB of the frame that a side is fixed on; identity if there is none.
Matrix3d FrameRotation(const Attachment& attachment, const TrialConfiguration& at) {
  return IsOnFrame(attachment) ? at.frame(attachment.block, attachment.frame).X_WB.R
                               : Matrix3d(Matrix3d::Identity());
}

// Shape of one side where the contact was found, if it has one.
struct ShapeSide {
  const Shape* shape = nullptr;
  Matrix3d R_WS = Matrix3d::Identity();
  SurfaceKind kind;
  double radius = 0;  // of a shape or a point
};

ShapeSide FindShapeSide(const Model& model, const Attachment& attachment,
                        const ContactFeature& feature, int body_index, double time_ahead,
                        const Vector3d& outward, const TrialConfiguration& start) {
  ShapeSide side;
  const Body& body = model.bodies[body_index];
  if (feature.kind == ContactFeature::Kind::kPoint) side.radius = body.points.radii[feature.index];
  if (feature.kind != ContactFeature::Kind::kShape) return side;
  side.shape = &body.shapes[feature.index];
  RigidTransform X_WB = body.X_WB;
  if (IsOnFrame(attachment)) {
    const FrameMotion& frame = start.frame(attachment.block, attachment.frame);
    X_WB = time_ahead > 0 ? Advance(frame, time_ahead) : frame.X_WB;
  }
  side.R_WS = (X_WB * side.shape->X_BS).R;
  side.kind = DescribeSurface(side.shape->geometry, side.R_WS.transpose() * outward);
  side.radius = side.kind.radius;
  return side;
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
      gap_(contact.gap),
      p_AB_(contact.b.p_W - contact.a.p_W) {
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
  a_ = MakeSide(contact.a, n, of_a.radius, is_triangle_a, start);
  b_ = MakeSide(contact.b, -n, of_b.radius, is_triangle_b, start);

  if (of_a.kind.face > 0 || of_b.kind.face > 0) {
    source_ = of_a.kind.face >= of_b.kind.face ? NormalSource::kA : NormalSource::kB;
  } else if (is_triangle_a || is_triangle_b) {
    source_ = is_triangle_a ? NormalSource::kA : NormalSource::kB;
  } else if (of_a.radius + of_b.radius > 0) {
    source_ = NormalSource::kBetween;
    // the axis of a rod matters against nodes only: two crossing rods touch as balls do
    const auto axis_of = [&](const ShapeSide& side, const Attachment& attachment) {
      const Vector3d axis_W = side.R_WS * side.kind.axis_S;
      return Vector3d(FrameRotation(attachment, start).transpose() * axis_W);
    };
    if (of_b.shape == nullptr && of_a.shape != nullptr) a_.axis = axis_of(of_a, contact.a);
    if (of_a.shape == nullptr && of_b.shape != nullptr) b_.axis = axis_of(of_b, contact.b);
  } else if (of_a.shape != nullptr && of_b.shape != nullptr) {
    const Vector3d edge_a = FindEdge(of_a, n), edge_b = FindEdge(of_b, n);
    const bool are_edges =
        !edge_a.isZero(0) && !edge_b.isZero(0) && edge_a.cross(edge_b).squaredNorm() > 1e-4;
    source_ = are_edges ? NormalSource::kEdges : NormalSource::kBoth;
    if (are_edges) {
      a_.edge = FrameRotation(contact.a, start).transpose() * edge_a;
      b_.edge = FrameRotation(contact.b, start).transpose() * edge_b;
    }
  } else if (of_a.shape != nullptr || of_b.shape != nullptr) {
    source_ = of_a.shape != nullptr ? NormalSource::kA : NormalSource::kB;
  } else if (contact.a.nodes.size() == 2 && contact.b.nodes.size() == 2) {
    source_ = NormalSource::kEdges;
  }
}

ContactKinematics::Side ContactKinematics::MakeSide(const Attachment& attachment,
                                                    const Vector3d& outward, double radius,
                                                    bool is_triangle,
                                                    const TrialConfiguration& start) const {
  Side side;
  side.radius = radius;
  side.core = side.core_start = attachment.p_W - radius * outward;
  if (attachment.block == kWorldBlock) return side;
  if (attachment.nodes.empty()) {
    const RigidTransform& X_WB = start.frame(attachment.block, attachment.frame).X_WB;
    side.core = X_WB.Inverse() * side.core_start;
    side.triad = X_WB.R;
    side.has_triad = true;
    return side;
  }
  for (int k = 0; k < attachment.nodes.size(); ++k) {
    side.core -=
        attachment.nodes.weight(k) * start.position(attachment.block, attachment.nodes.node(k));
  }
  if (is_triangle) side.has_triad = CalcTriad(attachment, start, &side.triad);
  return side;
}

Vector3d ContactKinematics::PlaceCore(const Side& side, const Attachment& attachment,
                                      const TrialConfiguration& trial) const {
  if (attachment.block == kWorldBlock) return side.core;
  if (attachment.nodes.empty())
    return trial.frame(attachment.block, attachment.frame).X_WB * side.core;
  Vector3d core = side.core;
  for (int k = 0; k < attachment.nodes.size(); ++k) {
    core += attachment.nodes.weight(k) * trial.position(attachment.block, attachment.nodes.node(k));
  }
  return core;
}

// Rotation of a side's frame or triangle since the start; identity if it has none.
Matrix3d ContactKinematics::CalcTurn(const Side& side, const Attachment& attachment,
                                     const TrialConfiguration& trial) const {
  if (!side.has_triad) return Matrix3d::Identity();
  Matrix3d triad;
  if (attachment.nodes.empty()) {
    triad = trial.frame(attachment.block, attachment.frame).X_WB.R;
  } else if (!CalcTriad(attachment, trial, &triad)) {
    return Matrix3d::Identity();
  }
  return triad * side.triad.transpose();
}

Vector3d ContactKinematics::PlaceEdge(const Side& side, const Attachment& attachment,
                                      const TrialConfiguration& trial) const {
  if (attachment.nodes.size() == 2) {
    return trial.position(attachment.block, attachment.nodes.node(1)) -
           trial.position(attachment.block, attachment.nodes.node(0));
  }
  return FrameRotation(attachment, trial) * side.edge;
}

Matrix3d ContactKinematics::CalcFrame(const TrialConfiguration& trial, const Vector3d& core_A,
                                      const Vector3d& core_B) const {
  const ContactPoint& contact = *contact_;
  const auto turn_onto = [&](const Vector3d& n) {
    return Matrix3d(CalcLeastTurn(R_WC_.col(2), n) * R_WC_);
  };
  switch (source_) {
    case NormalSource::kFixed:
      return R_WC_;
    case NormalSource::kA:
      return CalcTurn(a_, contact.a, trial) * R_WC_;
    case NormalSource::kB:
      return CalcTurn(b_, contact.b, trial) * R_WC_;
    case NormalSource::kBoth:
      return CalcMeanTurn(CalcTurn(a_, contact.a, trial), CalcTurn(b_, contact.b, trial)) * R_WC_;
    case NormalSource::kEdges: {
      Vector3d n = PlaceEdge(a_, contact.a, trial).cross(PlaceEdge(b_, contact.b, trial));
      const double norm = std::sqrt(n.squaredNorm());
      if (!(norm > 0)) return R_WC_;
      n /= norm;
      if (n.dot(R_WC_.col(2)) < 0) n = -n;
      return turn_onto(n);
    }
    case NormalSource::kBetween: {
      Vector3d n = core_B - core_A - p_AB_;
      const auto project = [&](const Side& side, const Attachment& attachment) {
        if (side.axis.isZero(0)) return;
        const Vector3d axis = FrameRotation(attachment, trial) * side.axis;
        n -= axis.dot(n) * axis;
      };
      project(a_, contact.a);
      project(b_, contact.b);
      const double norm = std::sqrt(n.squaredNorm());
      return norm > 0 ? turn_onto(n / norm) : R_WC_;
    }
  }
  return R_WC_;
}

PlacedContact ContactKinematics::Place(const TrialConfiguration& trial) const {
  const ContactPoint& contact = *contact_;
  PlacedContact placed;
  placed.core_A = PlaceCore(a_, contact.a, trial);
  placed.core_B = PlaceCore(b_, contact.b, trial);
  placed.R_WC = CalcFrame(trial, placed.core_A, placed.core_B);
  const Vector3d n = placed.R_WC.col(2);
  placed.gap = gap_ + n.dot(placed.core_B - placed.core_A - p_AB_) - a_.radius - b_.radius;
  placed.p_A = placed.core_A + a_.radius * n;
  placed.p_B = placed.core_B - b_.radius * n;
  return placed;
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
