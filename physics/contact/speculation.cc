#include "physics/contact/speculation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "physics/contact/pairs/contact_key.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Maximum number of detections along a step.
constexpr int kMaxDetections = 64;
// Reach of a detection, in margins or in steps between detections, whichever is larger.
constexpr double kReach = 2;
// The normal of features that overlap by less than this part of a body's thickness is that of the
// side on which they entered.
constexpr double kSafeDepth = 0.25;

// Overlap at which features that meet are detected, relative to the depth.
constexpr double kJustMet = 0.05;
// Features that overlapped by more than this part of the depth at the previous detection did not
// enter since.
constexpr double kEntered = 0.2;

// Present position of a point found after a time t of steady motion.
Vector3d MoveBack(const BodyMotions& motions, const Attachment& side, int body,
                  const Vector3d& velocity, double t) {
  if (side.block == kWorldBlock) return side.p_W;
  if (!side.nodes.empty()) return side.p_W - t * velocity;
  const FrameMotion& motion = motions[body];
  return motion.X_WB * (Advance(motion, t).Inverse() * side.p_W);
}

// Velocity of one side of a contact after a time t of steady motion [m/s].
Vector3d CalcVelocityAt(const Model& model, const State& state, const BodyMotions& motions,
                        const Attachment& side, int body, double t) {
  if (!side.is_on_frame())
    return CalcAttachedVelocity(model, state, motions, side, body, side.p_W);
  const FrameMotion& motion = motions[body];
  return motion.CalcPointVelocity(side.p_W - t * motion.v_W);
}

// Rate of a contact's gap after a time t of steady motion [m/s].
double CalcGapRate(const Model& model, const State& state, const BodyMotions& motions,
                   const ContactPoint& point, double t) {
  return point.R_WC.col(2).dot(CalcVelocityAt(model, state, motions, point.b, point.body_b, t) -
                               CalcVelocityAt(model, state, motions, point.a, point.body_a, t));
}

// Moves a contact found after a time t of steady motion back to the start of the step.
void MoveToStart(const Model& model, const State& state, const BodyMotions& motions, double t,
                 ContactPoint* point) {
  Attachment &a = point->a, &b = point->b;
  const Vector3d n = point->R_WC.col(2), apart = b.p_W - a.p_W;
  for (const auto& [side, body] : {std::pair(&a, point->body_a), std::pair(&b, point->body_b)}) {
    const Vector3d v = CalcVelocityAt(model, state, motions, *side, body, t);
    side->p_W = MoveBack(motions, *side, body, v, t);
  }
  const double change = n.dot(b.p_W - a.p_W - apart);
  point->gap += change;
  point->p_W = 0.5 * (a.p_W + b.p_W);
  point->relaxation_time = 0;
  point->time_ahead = t;
  point->gap_rate = -change / t;
}

// Compares a contact found after a time t of steady motion with the known and `posed` contacts of
// the same features. Returns true, and gives it a key of its own, if its gap is smaller by more
// than `tolerance` than they predict from their present rates, and if there are fewer than
// kMaxPoses such contacts: bodies that turn meet elsewhere than at their present nearest points.
bool IsElsewhere(const Model& model, const State& state, const BodyMotions& motions,
                 const std::vector<ContactPoint>& known, std::span<const ContactPoint> posed,
                 double tolerance, double t, ContactPoint* found) {
  for (int k = 0; k <= kMaxPoses; ++k) {
    const ContactPoint* same = nullptr;
    for (const ContactPoint& point : known)
      if (point.key == found->key) same = &point;
    for (const ContactPoint& point : posed)
      if (point.key == found->key) same = &point;
    if (same == nullptr) return k > 0;
    const double gap = same->gap + t * CalcGapRate(model, state, motions, *same, 0);
    if (gap - found->gap <= tolerance) return false;
    found->key = NextPoseKey(found->key);
  }
  return false;
}

// Time at which the first of the doubtful contacts will overlap by `depth`, at most h.
double FindFirst(const Model& model, const State& state, const BodyMotions& motions, double h,
                 double depth, const std::vector<ContactPoint>& contacts,
                 const std::vector<std::uint64_t>& doubtful) {
  double first = h;
  for (const ContactPoint& point : contacts) {
    if (!std::binary_search(doubtful.begin(), doubtful.end(), point.key)) continue;
    const double rate = CalcGapRate(model, state, motions, point, 0);
    first = std::min(first, (point.gap + depth) / -rate);
  }
  return first;
}

}  // namespace

std::uint64_t NextPoseKey(std::uint64_t key) {
  return MixKey({key, 1});
}

double MotionBound::speed() const {
  return std::sqrt(velocity.squaredNorm()) + deviation;
}

MotionBound BoundMotion(const Model& model, const State& state, const BodyMotions& motions,
                        int index, GeometryKind kind, const AxisAlignedBox& bounds) {
  const Body& body = model.bodies[index];
  MotionBound bound;
  if (body.block == kWorldBlock) return bound;
  const NodeSet* nodes = model.abilities_of(body).nodes;
  if (kind != GeometryKind::kShapes && nodes != nullptr) {
    const std::span<const double> v = model.Velocities(state, body.block);
    const IndexRange range = nodes->nodes_of(body.part);
    if (range.count == 0 || v.empty()) return bound;
    const int end = range.first + range.count;
    for (int i = range.first; i < end; ++i) bound.velocity += VertexAt(v, i);
    bound.velocity /= static_cast<double>(range.count);
    double largest = 0;
    for (int i = range.first; i < end; ++i)
      largest = std::max(largest, (VertexAt(v, i) - bound.velocity).squaredNorm());
    bound.deviation = std::sqrt(largest);
    return bound;
  }
  const FrameMotion& motion = motions[index];
  bound.velocity = motion.CalcPointVelocity(0.5 * (bounds.lower + bounds.upper));
  bound.deviation = 0.5 * std::sqrt((bounds.upper - bounds.lower).squaredNorm()) *
                    std::sqrt(motion.omega_W.squaredNorm());
  return bound;
}

double BoundApproach(const MotionBound& a, const MotionBound& b) {
  return std::sqrt((a.velocity - b.velocity).squaredNorm()) + a.deviation + b.deviation;
}

double BoundApproachAlong(const Vector3d& n, const MotionBound& a, const MotionBound& b) {
  return n.dot(a.velocity - b.velocity) + a.deviation + b.deviation;
}

RigidTransform Advance(const FrameMotion& motion, double t) {
  RigidTransform X_WB = motion.X_WB;
  X_WB.p += t * motion.v_W;
  if (!motion.omega_W.isZero(0)) {
    X_WB.R = RotationFromVector(t * motion.omega_W).toRotationMatrix() * X_WB.R;
  }
  return X_WB;
}

Vector3d CalcAttachedVelocity(const Model& model, const State& state, const BodyMotions& motions,
                              const Attachment& side, int body, const Vector3d& p_W) {
  if (side.block == kWorldBlock) return Vector3d::Zero();
  if (side.nodes.empty()) return motions[body].CalcPointVelocity(p_W);
  return model.abilities[side.block].nodes->CalcPointVelocity(model.StateOf(state, side.block),
                                                              side);
}

double CalcSafeTravel(double margin) {
  return 0.5 * margin;
}

double CalcSafeDepth(double thickness) {
  return kSafeDepth * thickness;
}

int AppendSpeculativeContacts(const Model& model, const State& state, const BodyMotions& motions,
                              double h, const ApproachingPair& pair,
                              const std::vector<ContactPoint>& known, SpeculationScratch* scratch,
                              std::vector<ContactPoint>* contacts,
                              std::vector<std::uint64_t>* doubtful) {
  // detect when features that meet will overlap by this [m]
  const double depth = 0.5 * kSafeDepth * pair.thickness;
  // rigid features that meet at a corner soon leave each other: look just after they met
  const double just_met = pair.are_convex ? kJustMet * depth : depth;
  const double stride = std::max(h / kMaxDetections, pair.spacing / pair.approach);
  const double stride_reach = pair.approach * stride;

  // keys of known contacts, ascending
  std::vector<std::uint64_t>& keys = scratch->known;
  keys.clear();
  for (const ContactPoint& point : known) keys.push_back(point.key);
  std::sort(keys.begin(), keys.end());
  std::vector<ContactPoint>& found = scratch->found;
  const std::size_t num_before = contacts->size();
  int num_inside = 0;
  double last = 0;
  double t = pair.all_known ? FindFirst(model, state, motions, h, just_met, known, *doubtful) : 0;
  for (int k = 0;; ++k) {
    // the last detection, and each one of convex shapes, reaches all features that may yet meet
    const bool is_last = k == kMaxDetections;
    const double rest = pair.approach * (h - t),
                 near = kReach * std::max({pair.margin, stride_reach, kEntered * depth});
    const double reach = is_last || pair.are_convex ? rest : std::min(rest, near);
    found.clear();
    pair.collide(t, std::max(reach, pair.margin), &found);
    // time in which no other features meet [s]
    double wait = std::max(reach, pair.margin) / pair.approach, next = h;
    for (ContactPoint& point : found) {
      // gravity accelerates during the step
      const double slack = h * t * std::abs(point.R_WC.col(2).dot(model.gravity));
      const double rate = CalcGapRate(model, state, motions, point, t);
      const bool has_met = point.gap <= slack;
      auto place = std::lower_bound(keys.begin(), keys.end(), point.key);
      const bool is_known = place != keys.end() && *place == point.key;
      double apart = 0;
      if (!has_met) {
        const double speed =
            pair.are_convex ? BoundApproachAlong(point.R_WC.col(2), pair.a, pair.b) : pair.approach;
        apart = speed > 0 ? (point.gap + kEntered * depth) / speed : h;
        if (rate < 0) next = std::min(next, t + (point.gap + just_met) / -rate);
      }
      // other features of touching shapes are near
      if (is_known || has_met) apart = std::max(apart, near / pair.approach);
      wait = std::min(wait, apart);
      if (is_known) {
        if (has_met) std::erase(*doubtful, point.key);
        if (!has_met || !pair.are_convex || t == 0 ||
            !IsElsewhere(model, state, motions, known, std::span(*contacts).subspan(num_before),
                         just_met, t, &point))
          continue;
        place = std::lower_bound(keys.begin(), keys.end(), point.key);
      }
      if (!has_met && (!is_last || point.gap + (h - t) * rate > 0)) continue;
      // A body that overlapped before did not enter across this feature, nor will it later: it may
      // leave there, on the other side of a thin body.
      if (t == 0 || point.gap - rate * (t - last) < -kEntered * depth) {
        ++num_inside;
        keys.insert(place, point.key);
        continue;
      }
      MoveToStart(model, state, motions, t, &point);
      keys.insert(place, point.key);
      contacts->push_back(point);
    }
    if (is_last || t >= h || (pair.all_known && doubtful->empty())) break;
    last = t;
    t = std::min({h, next, t + std::max(wait, stride)});
  }
  return known.empty() && contacts->size() == num_before ? num_inside : 0;
}

}  // namespace pliant::physics
