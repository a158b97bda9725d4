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
// Maximum reach of a detection, in margins.
constexpr double kMaxReach = 4;
// A body that penetrates by less than this part of its thickness is pushed out on the side it
// entered.
constexpr double kSafeDepth = 0.25;

// Present position of a point found after a time t of steady motion.
Vector3d MoveBack(const BodyMotions& motions, const Attachment& side, int body,
                  const Vector3d& velocity, double t) {
  if (side.block == kWorldBlock) return side.p_W;
  if (!side.nodes.empty()) return side.p_W - t * velocity;
  const FrameMotion& motion = motions[body];
  return motion.X_WB * (Advance(motion, t).Inverse() * side.p_W);
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

double CalcSafeTravel(double margin, double thickness) {
  return std::max(margin, kSafeDepth * thickness);
}

bool IsFoundInTime(double travel, double margin, double thickness) {
  return travel <= CalcSafeTravel(margin, thickness);
}

int AppendSpeculativeContacts(const Model& model, const State& state, const BodyMotions& motions,
                              double h, const ApproachingPair& pair,
                              const std::vector<ContactPoint>& known, SpeculationScratch* scratch,
                              std::vector<ContactPoint>* contacts) {
  const double travel = h * pair.approach;
  // penetration up to this is pushed out on the side of entry
  const double shallow = kSafeDepth * pair.thickness;
  const double near = std::max(pair.margin, travel / kMaxDetections);
  // allow for acceleration by gravity during the step
  const double slack = near + h * h * std::sqrt(model.gravity.squaredNorm());

  // keys of known contacts, ascending
  std::vector<std::uint64_t>& keys = scratch->known;
  keys.clear();
  for (const ContactPoint& point : known) keys.push_back(point.key);
  std::sort(keys.begin(), keys.end());
  std::vector<ContactPoint>& found = scratch->found;
  // contacts within the margin now are known: start beyond it
  const double stride = 0.9 / pair.approach;
  double t = stride * (near + shallow);
  int too_deep = 0;
  while (pair.approach * (h - t) > shallow) {
    const double reach = std::max(near, std::min(kMaxReach * near, pair.approach * (h - t)));
    found.clear();
    pair.collide(t, reach, &found);
    double nearest = reach;
    for (ContactPoint& point : found) {
      const auto place = std::lower_bound(keys.begin(), keys.end(), point.key);
      if (place != keys.end() && *place == point.key) continue;
      if (point.gap > near) {
        nearest = std::min(nearest, point.gap);
        continue;
      }
      nearest = near;  // a near feature may go on at full speed
      // too deep to have entered across this feature
      if (point.gap < -0.5 * near - shallow) {
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
      const double rate = -nearing / t;
      if (IsFoundInTime(-h * rate, pair.margin, pair.thickness)) continue;
      if (point.gap + nearing + h * rate > slack - shallow) continue;
      point.gap += nearing;
      point.a.p_W = p_a;
      point.b.p_W = p_b;
      point.p_W = 0.5 * (p_a + p_b);
      point.friction = 0;
      point.relaxation_time = 0;
      point.time_ahead = t;
      point.gap_rate = rate;
      keys.insert(place, point.key);
      contacts->push_back(point);
    }
    t += stride * (nearest + shallow);
  }
  return too_deep;
}

}  // namespace pliant::physics
