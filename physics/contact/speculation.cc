#include "physics/contact/speculation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "physics/geometry/triangle_bvh.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Maximum number of detections along a step.
constexpr int kMaxDetections = 64;
// Maximum reach of a detection, in margins and depths of overlap at which features are found.
constexpr double kMaxReach = 4;
// The normal of features that overlap by less than this part of a body's thickness is that of the
// side on which they entered.
constexpr double kSafeDepth = 0.25;

// Present position of a point found after a time t of steady motion.
Vector3d MoveBack(const BodyMotions& motions, const Attachment& side, int body,
                  const Vector3d& velocity, double t) {
  if (side.block == kWorldBlock) return side.p_W;
  if (!side.nodes.empty()) return side.p_W - t * velocity;
  const FrameMotion& motion = motions[body];
  return motion.X_WB * (Advance(motion, t).Inverse() * side.p_W);
}

// Rate of a contact's gap at the start of the step [m/s].
double CalcGapRate(const Model& model, const State& state, const BodyMotions& motions,
                   const ContactPoint& point) {
  const Vector3d n = point.R_WC.col(2);
  return n.dot(CalcAttachedVelocity(model, state, motions, point.b, point.body_b, point.b.p_W) -
               CalcAttachedVelocity(model, state, motions, point.a, point.body_a, point.a.p_W));
}

}  // namespace

double MotionBound::speed() const {
  return std::sqrt(velocity.squaredNorm()) + deviation;
}

MotionBound BoundMotion(const Model& model, const State& state, const BodyMotions& motions,
                        int index, GeometryKind kind, const AxisAlignedBox& bounds) {
  const Body& body = model.bodies[index];
  MotionBound bound;
  if (body.block == kWorldBlock) return bound;
  if (kind != GeometryKind::kShapes) {
    const std::span<const double> v = model.Velocities(state, body.block);
    const std::size_t count = v.size() / 3;
    if (count == 0) return bound;
    for (std::size_t i = 0; i < count; ++i) bound.velocity += VertexAt(v, static_cast<int>(i));
    bound.velocity /= static_cast<double>(count);
    double largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      largest =
          std::max(largest, (VertexAt(v, static_cast<int>(i)) - bound.velocity).squaredNorm());
    }
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

int AppendSpeculativeContacts(const Model& model, const State& state, const BodyMotions& motions,
                              double h, const ApproachingPair& pair,
                              const std::vector<ContactPoint>& known, SpeculationScratch* scratch,
                              std::vector<ContactPoint>* contacts,
                              std::vector<std::uint64_t>* passed) {
  // features that meet are found before they overlap by more than this
  const double depth = kSafeDepth * pair.thickness;
  const double fall = h * h * std::sqrt(model.gravity.squaredNorm());

  // keys of known contacts, ascending
  std::vector<std::uint64_t>& keys = scratch->known;
  keys.clear();
  for (const ContactPoint& point : known) keys.push_back(point.key);
  std::sort(keys.begin(), keys.end());
  passed->clear();
  for (const ContactPoint& point : known) {
    const double rate = CalcGapRate(model, state, motions, point);
    if (point.gap > 0 && point.gap + h * rate < 0) passed->push_back(point.key);
  }
  std::sort(passed->begin(), passed->end());
  std::vector<ContactPoint>& found = scratch->found;
  const std::size_t num_before = contacts->size();
  // contacts within the margin now are known: start beyond it
  double t = 0, last = 0, nearest = pair.margin;
  int too_deep = 0;
  for (int k = 0; t < h && k < kMaxDetections; ++k) {
    // go back when the first features to meet were passed
    if (too_deep > 0 && known.empty() && contacts->size() == num_before) {
      t = 0.5 * (last + t);
    } else {
      last = t;
      t = std::min(h, t + std::max((nearest + depth) / pair.approach, h / kMaxDetections));
    }
    too_deep = 0;
    // gravity accelerates until then
    const double slack = fall * (t / h) * (t / h);
    const double reach =
        std::max(slack, std::min(kMaxReach * (pair.margin + depth), pair.approach * (h - t)));
    found.clear();
    pair.collide(t, reach, &found);
    nearest = reach;
    for (ContactPoint& point : found) {
      const auto place = std::lower_bound(keys.begin(), keys.end(), point.key);
      if (place != keys.end() && *place == point.key) {
        if (point.gap <= slack) std::erase(*passed, point.key);
        continue;
      }
      if (point.gap > slack) {
        nearest = std::min(nearest, point.gap);
        continue;
      }
      nearest = 0;  // others may meet next to it at any time
      // too deep to have entered across this feature
      if (point.gap < -0.5 * pair.thickness) {
        ++too_deep;
        continue;
      }
      const Vector3d v_a =
          CalcAttachedVelocity(model, state, motions, point.a, point.body_a, point.a.p_W);
      const Vector3d v_b =
          CalcAttachedVelocity(model, state, motions, point.b, point.body_b, point.b.p_W);
      const Vector3d p_a = MoveBack(motions, point.a, point.body_a, v_a, t);
      const Vector3d p_b = MoveBack(motions, point.b, point.body_b, v_b, t);
      const Vector3d n = point.R_WC.col(2);
      const double nearing = n.dot((point.a.p_W - p_a) - (point.b.p_W - p_b));
      point.gap += nearing;
      point.a.p_W = p_a;
      point.b.p_W = p_b;
      point.p_W = 0.5 * (p_a + p_b);
      point.relaxation_time = 0;
      point.time_ahead = t;
      point.gap_rate = -nearing / t;
      keys.insert(place, point.key);
      contacts->push_back(point);
    }
  }
  return too_deep;
}

}  // namespace pliant::physics
