#include "physics/stepping/smooth/smooth_contact.h"

#include <cmath>

#include "physics/spatial/dual.h"
#include "physics/spatial/log.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

template <typename T>
using VectorOf = Eigen::Matrix<T, 3, 1>;

// Weight of p_B in the point at which the force acts, which is the same for both sides, so that it
// exerts no couple: on the side with nodes, or in the middle of the gap. Between two frames it
// follows what touches a face, not the place of the face where it was at the start of the step: a
// rolling ball would spin up.
struct ForcePlace {
  double of_A, of_B;
  double across = 0;  // part of the gap along the normal by which it lies off the side with a face
};
ForcePlace FindForcePlace(const SmoothContact& contact) {
  if (!contact.point->b.nodes.empty()) return {0, 1};
  if (!contact.point->a.nodes.empty()) return {1, 0};
  const int face = contact.kinematics.face_side();
  if (face == 0) return {0.5, 0.5};
  return face < 0 ? ForcePlace{0, 1, -0.5} : ForcePlace{1, 0, 0.5};
}
Vector3d PlaceForce(const ForcePlace& place, const PlacedContact& placed) {
  const Vector3d n = placed.R_WC.col(2);
  return place.of_A * placed.p_A + place.of_B * placed.p_B +
         place.across * n.dot(placed.p_B - placed.p_A) * n;
}

// Velocity of a side at p_W.
Vector3d CalcVelocity(const Attachment& side, const TrialConfiguration& trial,
                      const Vector3d& p_W) {
  Vector3d v = Vector3d::Zero();
  if (side.block == kWorldBlock) return v;
  if (side.nodes.empty()) return trial.frame(side.block, side.frame).CalcPointVelocity(p_W);
  for (int k = 0; k < side.nodes.size(); ++k)
    v += side.nodes.weight(k) * trial.velocity(side.block, side.nodes.node(k));
  return v;
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

// The force on B as a function of the gap, the normal and the velocity of B relative to A.
template <typename T>
struct ForceOf {
  T gap, normal_force;
  VectorOf<T> slip, relative_slip, force;
};
template <typename T>
ForceOf<T> CalcForce(const SmoothContact& contact, const T& gap, const VectorOf<T>& normal,
                     const VectorOf<T>& u, const solvers::FrictionDual* dual = nullptr) {
  ForceOf<T> of;
  of.gap = gap + T(contact.lift);
  of.normal_force = CalcNormalForce(contact.law, of.gap);
  const VectorOf<T> n = contact.lag.is_used ? VectorOf<T>(contact.lag.normal_W.cast<T>()) : normal;
  of.normal_force *= CalcSeparationFactor<T>(contact, normal.dot(u));
  of.slip = u - n * n.dot(u);
  VectorOf<T> stretch = VectorOf<T>::Zero();
  if (contact.is_anchored) {
    // stretch ẑ + c h u, divided by h
    const VectorOf<T> base = (contact.stretch_W * contact.law.stick_speed).cast<T>();
    stretch = base - n * n.dot(base) - of.slip * T(1 - contact.stage_length);
  }
  const T load = contact.lag.is_used ? T(contact.lag.normal_force) : of.normal_force;
  of.relative_slip = (stretch + of.slip) / T(contact.law.stick_speed);
  const VectorOf<T> direction = dual != nullptr
                                    ? dual->CalcDirection<T>(of.relative_slip)
                                    : solvers::CalcFrictionDirection<T>(of.relative_slip);
  of.force = normal * of.normal_force +
             solvers::CalcFriction<T>(contact.law, load, of.gap, of.slip, direction);
  of.force *= T(contact.weight);
  return of;
}

}  // namespace

SmoothContactForce CalcContactForce(const SmoothContact& contact, const TrialConfiguration& trial) {
  const ContactPoint& point = *contact.point;
  const PlacedContact placed = contact.kinematics.Place(trial);
  const Vector3d n = placed.R_WC.col(2), p = PlaceForce(FindForcePlace(contact), placed);
  const Vector3d u = CalcVelocity(point.b, trial, p) - CalcVelocity(point.a, trial, p);
  const ForceOf<double> of = CalcForce<double>(contact, placed.gap, n, u);
  // forces that vanish as sides separate have no potential
  const bool is_potential = !std::isfinite(contact.max_separation_speed);
  const double log_ratio =
      contact.law.is_barrier && of.gap > 0 ? CalcLog(of.gap / contact.law.distance) : 0;
  const double energy =
      is_potential ? solvers::CalcStoredEnergy(contact.law, of.gap, log_ratio) : 0;
  return {of.gap, of.normal_force, n, p, of.slip, of.relative_slip, of.force, energy};
}

SmoothContactTangent DifferentiateContact(const SmoothContact& contact,
                                          const TrialConfiguration& trial, bool with_sliding_basis,
                                          const solvers::FrictionDual* dual) {
  using Columns = ContactDerivatives::Columns;
  SmoothContactTangent tangent;
  const ContactPoint& point = *contact.point;
  ContactDerivatives by_sides;
  const PlacedContact placed = contact.kinematics.Differentiate(trial, &by_sides);
  tangent.turns[0] = by_sides.turns[0];
  tangent.turns[1] = by_sides.turns[1];
  const Vector3d n = placed.R_WC.col(2);

  // the point of the force
  const ForcePlace place = FindForcePlace(contact);
  tangent.p_W = PlaceForce(place, placed);
  Columns p = place.of_A * by_sides.p_A + place.of_B * by_sides.p_B;
  if (place.across != 0) {
    const Vector3d apart = placed.p_B - placed.p_A;
    p += place.across * n *
             (n.transpose() * (by_sides.p_B - by_sides.p_A) + apart.transpose() * by_sides.normal)
                 .eval() +
         place.across * n.dot(apart) * by_sides.normal;
  }

  // the relative velocity there, and the arm about Bo of each frame
  Columns velocity = Columns::Zero(), arms[2];
  Vector3d u = Vector3d::Zero(), arm[2];
  for (const int s : {0, 1}) {
    const Attachment& side = s == 0 ? point.a : point.b;
    const double sign = s == 0 ? -1 : 1;
    u += sign * CalcVelocity(side, trial, tangent.p_W);
    if (!side.is_on_frame()) continue;
    const FrameMotion& frame = trial.frame(side.block, side.frame);
    arm[s] = tangent.p_W - frame.X_WB.p;
    arms[s] = p;
    arms[s].middleCols<3>(6 * s + 3) -= Eigen::Matrix3d::Identity();
    velocity += sign * CrossMatrix(frame.omega_W) * arms[s];
  }

  // the force by gap, normal and relative velocity, then by the directions of the sides
  using T = Dual<7>;
  T gap = placed.gap;
  gap.d[0] = 1;
  VectorOf<T> normal = n.cast<T>(), relative = u.cast<T>();
  for (int r = 0; r < 3; ++r) {
    normal[r].d[1 + r] = 1;
    relative[r].d[4 + r] = 1;
  }
  const ForceOf<T> of = CalcForce<T>(contact, gap, normal, relative, dual);
  Eigen::Matrix<double, 3, 7> by_arguments;
  Vector3d force;
  for (int r = 0; r < 3; ++r) {
    force[r] = of.force[r].x;
    by_arguments.row(r) = of.force[r].d.transpose();
  }
  Eigen::Matrix<double, 3, 15> forces;
  forces.leftCols<12>() =
      by_arguments.col(0) * by_sides.gap + by_arguments.rightCols<3>() * velocity;
  if (with_sliding_basis) forces.leftCols<12>() += by_arguments.middleCols<3>(1) * by_sides.normal;
  forces.rightCols<3>() = by_arguments.rightCols<3>();
  tangent.gap = by_sides.gap;
  const Vector3d by_gap = by_arguments.col(0), friction_by_gap = by_gap - n.dot(by_gap) * n;
  for (const int s : {0, 1}) {
    SmoothContactTangent::Loads& loads = tangent.on[s];
    const double sign = s == 0 ? -1 : 1;
    loads.bottomRows<3>() = sign * forces;
    tangent.friction_by_gap[s] << Vector3d::Zero(), sign * friction_by_gap;
    if (!(s == 0 ? point.a : point.b).is_on_frame()) {
      loads.topRows<3>().setZero();
      continue;
    }
    tangent.friction_by_gap[s].head<3>() = sign * arm[s].cross(friction_by_gap);
    loads.topRows<3>() = sign * (CrossMatrix(arm[s]) * forces);
    loads.block<3, 12>(0, 0) -= sign * (CrossMatrix(force) * arms[s]);
  }
  return tangent;
}

}  // namespace pliant::physics
