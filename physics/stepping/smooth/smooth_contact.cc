#include "physics/stepping/smooth/smooth_contact.h"

#include <cmath>

#include "physics/spatial/log.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

template <typename T>
using VectorOf = Eigen::Matrix<T, 3, 1>;

// Point of application of the force, the same for both sides, so that it exerts no couple: on the
// side with nodes, or in the middle of the gap. Between two frames it follows what touches a face,
// not the place of the face where it was at the start of the step: a rolling ball would spin up.
template <typename T>
VectorOf<T> PlaceForce(const SmoothContact& contact, const PlacedContactOf<T>& placed) {
  const ContactPoint& point = *contact.point;
  if (!point.b.nodes.empty()) return placed.p_B;
  if (!point.a.nodes.empty()) return placed.p_A;
  const int face = contact.kinematics.face_side();
  if (face == 0) return (placed.p_A + placed.p_B) * T(0.5);
  const VectorOf<T> n = placed.R_WC.col(2);
  const VectorOf<T> across = n * (n.dot(placed.p_B - placed.p_A) * T(0.5));
  return face < 0 ? VectorOf<T>(placed.p_B - across) : VectorOf<T>(placed.p_A + across);
}

// Velocity of a side at p_W; `origin` is Bo of its frame.
template <typename T>
VectorOf<T> CalcVelocity(const Attachment& side, const TrialConfiguration& trial,
                         const VectorOf<T>& p_W, const VectorOf<T>& origin) {
  if (side.block == kWorldBlock) return VectorOf<T>::Zero();
  if (side.nodes.empty()) {
    const FrameMotion& frame = trial.frame(side.block, side.frame);
    return frame.v_W.cast<T>() + frame.omega_W.cast<T>().cross(VectorOf<T>(p_W - origin));
  }
  Vector3d v = Vector3d::Zero();
  for (int k = 0; k < side.nodes.size(); ++k)
    v += side.nodes.weight(k) * trial.velocity(side.block, side.nodes.node(k));
  return v.cast<T>();
}

// Factor on the normal force of sides that separate at this speed: 1 at zero and 0 beyond the
// contact's limit, with continuous derivatives.
template <typename T>
T CalcSeparationFactor(const SmoothContact& contact, const T& speed) {
  if (!std::isfinite(contact.max_separation_speed) || speed <= T(0)) return T(1);
  const T x = speed * T(1 / contact.max_separation_speed);
  if (x >= T(1)) return T(0);
  return T(1) - x * x * (T(3) - x * T(2));
}

double Log(double x) {
  return CalcLog(x);
}
template <int N>
Dual<N> Log(const Dual<N>& x) {
  return {CalcLog(x.x), x.d / x.x};
}

// Normal force at a gap, which is positive under a barrier.
template <typename T>
T CalcNormalForce(const solvers::SmoothContactLaw& law, const T& gap) {
  if (!law.is_barrier) return solvers::CalcPenaltyForce(law, gap);
  if (!(gap < law.distance) || !(gap > T(0))) return T(0);
  return solvers::CalcBarrierForce(law, gap, Log(T(gap / T(law.distance))));
}

template <typename T>
struct ForceOf {
  T gap, normal_force;
  VectorOf<T> normal, p, slip, force;
};

template <typename T>
ForceOf<T> CalcForce(const SmoothContact& contact, const TrialConfiguration& trial,
                     const PlacedContactOf<T>& placed, const VectorOf<T>& origin_a,
                     const VectorOf<T>& origin_b, const VectorOf<T>& seeds) {
  const ContactPoint& point = *contact.point;
  ForceOf<T> of;
  of.gap = placed.gap + T(contact.lift);
  of.normal = placed.R_WC.col(2);
  of.p = PlaceForce(contact, placed);
  of.normal_force = CalcNormalForce(contact.law, of.gap);
  const VectorOf<T> n =
      contact.lag.is_used ? VectorOf<T>(contact.lag.normal_W.cast<T>()) : of.normal;
  const VectorOf<T> u = CalcVelocity<T>(point.b, trial, of.p, origin_b) -
                        CalcVelocity<T>(point.a, trial, of.p, origin_a) + seeds;
  of.normal_force *= CalcSeparationFactor<T>(contact, of.normal.dot(u));
  of.slip = u - n * n.dot(u);
  VectorOf<T> stretch = VectorOf<T>::Zero();
  VectorOf<T> slip = of.slip;
  if (contact.is_anchored) {
    // stretch ẑ + c h u, divided by h
    const VectorOf<T> base = (contact.stretch_W * contact.law.stick_speed).cast<T>();
    stretch = base - n * n.dot(base) - slip * T(1 - contact.stage_length);
  }
  const T load = contact.lag.is_used ? T(contact.lag.normal_force) : of.normal_force;
  of.force = of.normal * of.normal_force +
             solvers::CalcFriction<T>(contact.law, load, of.gap, slip, stretch);
  of.force *= T(contact.weight);
  return of;
}

template <int N>
void Differentiate(const SmoothContact& contact, const TrialConfiguration& trial,
                   bool with_sliding_basis, SmoothContactTangent* tangent) {
  using T = Dual<N>;
  const ContactPoint& point = *contact.point;
  tangent->num_a = CountDirections(point.a);
  tangent->num_b = CountDirections(point.b);
  const int num = tangent->num_a + tangent->num_b;
  PlacedContactOf<T> placed = contact.kinematics.Differentiate<N>(trial);
  const auto origin_of = [&](const Attachment& side, int first) {
    VectorOf<T> origin = VectorOf<T>::Zero();
    if (!IsOnFrame(side)) return origin;
    origin = trial.frame(side.block, side.frame).X_WB.p.cast<T>();
    for (int r = 0; r < 3; ++r) origin[r].d[first + 3 + r] = 1;
    return origin;
  };
  const VectorOf<T> origin_a = origin_of(point.a, 0), origin_b = origin_of(point.b, tangent->num_a);
  VectorOf<T> seeds = VectorOf<T>::Zero();
  for (int r = 0; r < 3; ++r) seeds[r].d[num + r] = 1;
  if (!with_sliding_basis) {
    for (int i = 0; i < 9; ++i) placed.R_WC.data()[i].d.setZero();
  }
  const ForceOf<T> of = CalcForce<T>(contact, trial, placed, origin_a, origin_b, seeds);
  const VectorOf<T> torque_a = VectorOf<T>(of.p - origin_a).cross(of.force),
                    torque_b = VectorOf<T>(of.p - origin_b).cross(of.force);
  for (int r = 0; r < 3; ++r) {
    for (int k = 0; k < num + 3; ++k) {
      tangent->on_a(r, k) = -torque_a[r].d[k];
      tangent->on_a(3 + r, k) = -of.force[r].d[k];
      tangent->on_b(r, k) = torque_b[r].d[k];
      tangent->on_b(3 + r, k) = of.force[r].d[k];
    }
    tangent->p_W[r] = of.p[r].x;
  }
}

}  // namespace

SmoothContactForce CalcContactForce(const SmoothContact& contact, const TrialConfiguration& trial) {
  const ContactPoint& point = *contact.point;
  const PlacedContact placed = contact.kinematics.Place(trial);
  const auto origin_of = [&](const Attachment& side) {
    return IsOnFrame(side) ? trial.frame(side.block, side.frame).X_WB.p
                           : Vector3d(Vector3d::Zero());
  };
  const ForceOf<double> of = CalcForce<double>(contact, trial, placed, origin_of(point.a),
                                               origin_of(point.b), Vector3d::Zero());
  return {of.gap, of.normal_force, of.normal, of.p, of.slip, of.force};
}

SmoothContactTangent DifferentiateContact(const SmoothContact& contact,
                                          const TrialConfiguration& trial,
                                          bool with_sliding_basis) {
  SmoothContactTangent tangent;
  const ContactPoint& point = *contact.point;
  if (point.a.nodes.empty() && point.b.nodes.empty()) {
    Differentiate<ContactKinematics::kFrameDerivatives>(contact, trial, with_sliding_basis,
                                                        &tangent);
  } else {
    Differentiate<ContactKinematics::kMaxDerivatives>(contact, trial, with_sliding_basis, &tangent);
  }
  return tangent;
}

}  // namespace pliant::physics
