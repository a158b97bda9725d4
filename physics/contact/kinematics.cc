#include "physics/contact/kinematics.h"

#include <cmath>

#include "physics/contact/geometries/placed_shape.h"
#include "physics/contact/speculation.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

template <typename T>
using VectorOf = Eigen::Matrix<T, 3, 1>;
template <typename T>
using MatrixOf = Eigen::Matrix<T, 3, 3>;

template <typename T>
MatrixOf<T> CrossMatrixOf(const VectorOf<T>& v) {
  MatrixOf<T> m;
  m.col(0) = VectorOf<T>(T(0), v.z(), -v.y());
  m.col(1) = VectorOf<T>(-v.z(), T(0), v.x());
  m.col(2) = VectorOf<T>(v.y(), -v.x(), T(0));
  return m;
}

// Smallest rotation that takes the unit vector a to b; identity if they are nearly opposite.
template <typename T>
MatrixOf<T> CalcSmallestTurn(const VectorOf<T>& a, const VectorOf<T>& b) {
  const T cosine = a.dot(b);
  if (cosine < -0.999) return MatrixOf<T>::Identity();
  const MatrixOf<T> cross = CrossMatrixOf<T>(a.cross(b));
  return MatrixOf<T>::Identity() + cross + cross * cross / (1 + cosine);
}

// Axes along a triangle's first side and its normal; false for a triangle without area.
template <typename T>
bool CalcTriad(const VectorOf<T>& a, const VectorOf<T>& b, const VectorOf<T>& c,
               MatrixOf<T>* triad) {
  using std::sqrt;
  const VectorOf<T> side = b - a, normal = side.cross(c - a);
  const T length = sqrt(side.squaredNorm()), area = sqrt(normal.squaredNorm());
  if (!(length > 0) || !(area > 0)) return false;
  triad->col(0) = side / length;
  triad->col(2) = normal / area;
  triad->col(1) = triad->col(2).cross(triad->col(0));
  return true;
}

// Mean of two rotations.
template <typename T>
MatrixOf<T> CalcMeanTurn(const MatrixOf<T>& a, const MatrixOf<T>& b) {
  using std::sqrt;
  Eigen::Quaternion<T> p(a), q(b);
  if (p.coeffs().dot(q.coeffs()) < 0) q.coeffs() = -q.coeffs();
  p.coeffs() += q.coeffs();
  p.coeffs() /= sqrt(p.coeffs().squaredNorm());
  return p.toRotationMatrix();
}

bool IsOnFrame(const Attachment& attachment) {
  return attachment.block != kWorldBlock && attachment.nodes.empty();
}

// The configuration of both sides as numbers.
struct TrialView {
  using Scalar = double;
  const TrialConfiguration& trial;
  const Matrix3d& rotation(const Attachment& side) const {
    return trial.frame(side.block, side.frame).X_WB.R;
  }
  const Vector3d& origin(const Attachment& side) const {
    return trial.frame(side.block, side.frame).X_WB.p;
  }
  Vector3d node(const Attachment& side, int k) const {
    return trial.position(side.block, side.nodes.node(k));
  }
};

// The same with derivatives with respect to the directions of both sides.
template <int N>
class DualView {
 public:
  using Scalar = Dual<N>;
  DualView(const ContactPoint& contact, const TrialConfiguration& trial)
      : contact_(contact), plain_{trial}, first_b_(CountDirections(contact.a)) {
    for (const Attachment* side : {&contact.a, &contact.b}) {
      if (!HasFrame(*side)) continue;
      const int first = FirstOf(*side);
      MatrixOf<Scalar>& R = R_[side == &contact.b];
      R = plain_.rotation(*side).template cast<Scalar>();
      for (int k = 0; k < 3; ++k) {
        const Matrix3d turned = CrossMatrix(Vector3d::Unit(k)) * plain_.rotation(*side);
        for (int i = 0; i < 9; ++i) R.data()[i].d[first + k] = turned.data()[i];
      }
    }
  }
  const MatrixOf<Scalar>& rotation(const Attachment& side) const {
    return R_[&side == &contact_.b];
  }
  VectorOf<Scalar> origin(const Attachment& side) const {
    return Seed(plain_.origin(side), FirstOf(side) + 3);
  }
  VectorOf<Scalar> node(const Attachment& side, int k) const {
    return Seed(plain_.node(side, k), FirstOf(side) + 3 * k);
  }

 private:
  static bool HasFrame(const Attachment& side) {
    return side.block != kWorldBlock && side.nodes.empty();
  }
  int FirstOf(const Attachment& side) const { return &side == &contact_.b ? first_b_ : 0; }
  static VectorOf<Scalar> Seed(const Vector3d& x, int first) {
    VectorOf<Scalar> seeded = x.cast<Scalar>();
    for (int r = 0; r < 3; ++r) seeded[r].d[first + r] = 1;
    return seeded;
  }
  const ContactPoint& contact_;
  TrialView plain_;
  int first_b_;
  MatrixOf<Scalar> R_[2];
};

template <typename View>
bool CalcTriad(const Attachment& attachment, const View& at,
               MatrixOf<typename View::Scalar>* triad) {
  return CalcTriad<typename View::Scalar>(at.node(attachment, 0), at.node(attachment, 1),
                                          at.node(attachment, 2), triad);
}

// Rotation R_WB of the frame to which a side is fixed; identity if there is none.
template <typename View>
MatrixOf<typename View::Scalar> FrameRotation(const Attachment& attachment, const View& at) {
  using Rotation = MatrixOf<typename View::Scalar>;
  return IsOnFrame(attachment) ? Rotation(at.rotation(attachment)) : Rotation(Rotation::Identity());
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
  if (IsOnFrame(attachment)) {
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
template <typename T>
VectorOf<T> CalcSupport(const Vector3d& radii, const VectorOf<T>& n) {
  using std::sqrt;
  if (radii.isZero(0)) return VectorOf<T>::Zero();
  const VectorOf<T> of = radii.cast<T>(), scaled = of.cwiseProduct(n);
  const T norm = sqrt(scaled.squaredNorm());
  return norm > 0 ? VectorOf<T>(of.cwiseProduct(scaled) / norm) : VectorOf<T>(VectorOf<T>::Zero());
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
                 arm_F = side->R_FE * CalcSupport<double>(side->radii, outward_E);
  if (IsOnFrame(attachment)) {
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
  if (is_triangle) side->has_triad = CalcTriad(attachment, TrialView{start}, &side->triad);
}

template <typename View>
MatrixOf<typename View::Scalar> ContactKinematics::CalcFrame(
    const View& view, const VectorOf<typename View::Scalar>& core_A,
    const VectorOf<typename View::Scalar>& core_B) const {
  using T = typename View::Scalar;
  using std::sqrt;
  const ContactPoint& contact = *contact_;
  const MatrixOf<T> R_WC = R_WC_.cast<T>();
  const auto turn_onto = [&](const VectorOf<T>& n) {
    return MatrixOf<T>(CalcSmallestTurn<T>(R_WC.col(2), n) * R_WC);
  };
  // rotation of a side's frame or triangle since the start; identity if it has none
  const auto turn_of = [&](const Side& side, const Attachment& attachment) -> MatrixOf<T> {
    if (!side.has_triad) return MatrixOf<T>::Identity();
    MatrixOf<T> triad;
    if (attachment.nodes.empty()) {
      triad = view.rotation(attachment);
    } else if (!CalcTriad(attachment, view, &triad)) {
      return MatrixOf<T>::Identity();
    }
    return triad * side.triad.transpose().cast<T>();
  };
  const auto place_edge = [&](const Side& side, const Attachment& attachment) -> VectorOf<T> {
    if (attachment.nodes.size() == 2) return view.node(attachment, 1) - view.node(attachment, 0);
    return FrameRotation(attachment, view) * side.edge.cast<T>();
  };
  switch (source_) {
    case NormalSource::kFixed:
      return R_WC;
    case NormalSource::kA:
      return turn_of(a_, contact.a) * R_WC;
    case NormalSource::kB:
      return turn_of(b_, contact.b) * R_WC;
    case NormalSource::kBoth:
      return CalcMeanTurn<T>(turn_of(a_, contact.a), turn_of(b_, contact.b)) * R_WC;
    case NormalSource::kEdges: {
      VectorOf<T> n = place_edge(a_, contact.a).cross(place_edge(b_, contact.b));
      const T norm = sqrt(n.squaredNorm());
      if (!(norm > 0)) return R_WC;
      n /= norm;
      if (n.dot(R_WC.col(2)) < 0) n = -n;
      return turn_onto(n);
    }
    case NormalSource::kBetween: {
      VectorOf<T> n = core_B - core_A;
      const auto project = [&](const Side& side, const Attachment& attachment) {
        if (side.axis.isZero(0)) return;
        const VectorOf<T> axis = FrameRotation(attachment, view) * side.axis.cast<T>();
        n -= axis.dot(n) * axis;
      };
      project(a_, contact.a);
      project(b_, contact.b);
      // once the centres have passed each other, keep the initial normal
      if (!(n.dot(R_WC.col(2)) > 0)) return R_WC;
      return turn_onto(n / sqrt(n.squaredNorm()));
    }
  }
  return R_WC;
}

template <typename View>
PlacedContactOf<typename View::Scalar> ContactKinematics::PlaceIn(const View& view) const {
  using T = typename View::Scalar;
  const ContactPoint& contact = *contact_;
  const auto place_core = [&](const Side& side, const Attachment& attachment) {
    VectorOf<T> core = side.core.cast<T>();
    if (attachment.block == kWorldBlock) return core;
    if (attachment.nodes.empty())
      return VectorOf<T>(view.rotation(attachment) * core + view.origin(attachment));
    for (int k = 0; k < attachment.nodes.size(); ++k)
      core += T(attachment.nodes.weight(k)) * view.node(attachment, k);
    return core;
  };
  PlacedContactOf<T> placed;
  placed.core_A = place_core(a_, contact.a);
  placed.core_B = place_core(b_, contact.b);
  placed.R_WC = CalcFrame(view, placed.core_A, placed.core_B);
  const VectorOf<T> n = placed.R_WC.col(2);
  const auto arm_of = [&](const Side& side, const Attachment& attachment,
                          const VectorOf<T>& outward) {
    const MatrixOf<T> R_WE = FrameRotation(attachment, view) * side.R_FE.cast<T>();
    return VectorOf<T>(R_WE * CalcSupport<T>(side.radii, R_WE.transpose() * outward));
  };
  placed.p_A = placed.core_A + arm_of(a_, contact.a, n);
  placed.p_B = placed.core_B + arm_of(b_, contact.b, -n);
  placed.gap = gap_ + n.dot(placed.p_B - placed.p_A);
  return placed;
}

PlacedContact ContactKinematics::Place(const TrialConfiguration& trial) const {
  return PlaceIn(TrialView{trial});
}

template <int N>
PlacedContactOf<Dual<N>> ContactKinematics::Differentiate(const TrialConfiguration& trial) const {
  return PlaceIn(DualView<N>(*contact_, trial));
}
template PlacedContactOf<Dual<ContactKinematics::kFrameDerivatives>>
ContactKinematics::Differentiate<ContactKinematics::kFrameDerivatives>(
    const TrialConfiguration&) const;
template PlacedContactOf<Dual<ContactKinematics::kMaxDerivatives>> ContactKinematics::Differentiate<
    ContactKinematics::kMaxDerivatives>(const TrialConfiguration&) const;

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
