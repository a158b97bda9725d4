#include "physics/stepping/smooth/smooth_contact_maker.h"

#include <algorithm>
#include <limits>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Gap of sides that overlap at the start of the step, for a barrier, in units of δ.
constexpr double kBarrierStart = 0.01;
// Acceleration that sets the stiffness of contacts where there is no gravity [m/s²].
constexpr double kMinGravity = 1;

// Area on which a deformable body is taken to rest, for the stiffness of its contacts: the smallest
// side of the box around it [m²].
double CalcRestArea(const Body& body) {
  if (body.mesh.vertices.empty()) return 1;
  Vector3d lower = body.mesh.vertices[0], upper = lower;
  for (const Vector3d& x : body.mesh.vertices) {
    lower = lower.cwiseMin(x);
    upper = upper.cwiseMax(x);
  }
  const Vector3d size = upper - lower;
  const double area = std::min({size[0] * size[1], size[1] * size[2], size[2] * size[0]});
  return area > 0 ? area : 1;
}

// A contact's share in the viscous friction of its pair: by area, or equal among points.
double CalcShare(const ContactPoint& point, std::span<const ContactPoint> all) {
  if (point.area > 0) return point.area;
  int count = 0;
  for (const ContactPoint& other : all)
    count += other.body_a == point.body_a && other.body_b == point.body_b;
  return 1.0 / count;
}

}  // namespace

SmoothContactMaker::SmoothContactMaker(const Model& model) : model_(model) {
  for (const Body& body : model.bodies) rest_areas_.push_back(CalcRestArea(body));
}

bool SmoothContactMaker::Make(std::span<const ContactPoint> points, const StepStages& stages,
                              const State& state, const TrialConfiguration& start, double h,
                              double stiffening, std::vector<SmoothContact>* contacts) const {
  const SmoothOptions& options = model_.method.smooth;
  contacts->clear();
  bool overlaps = false;
  for (const ContactPoint& point : points) {
    SmoothContact& contact =
        contacts->emplace_back(SmoothContact{&point, ContactKinematics(model_, point, start), {}});
    solvers::SmoothContactLaw& law = contact.law;
    law.is_barrier = options.potential == SmoothOptions::Potential::kLogBarrier;
    law.distance = options.contact_distance;
    law.stick_speed = options.stick_speed;
    law.friction = point.friction;
    law.static_friction = std::max(point.static_friction, point.friction);
    law.stribeck_speed = point.stribeck_speed;
    law.stiffness = stiffening * CalcStiffness(point, stages.blocks);
    if (point.viscous_friction > 0)
      law.viscous = point.viscous_friction * CalcShare(point, stages.contacts.points);
    contact.is_anchored = model_.contact.anchored;
    const auto& anchors = state.smooth.anchors;
    const auto anchor =
        std::ranges::lower_bound(anchors, point.key, {}, &SmoothMemory::Anchor::key);
    // for the forces at the start of the step: a known contact has its stretch, a new one that of
    // its slip
    if (anchor != anchors.end() && anchor->key == point.key) {
      contact.anchor_W = anchor->stretch_W;
      contact.stage_length = 0;
    }
    // steps leave no overlap, so this one is due to the scene or to a script
    const double overlap = -CalcContactForce(contact, start).gap;
    if (overlap <= (law.is_barrier ? -kSmallGap : kSmallGap) * law.distance) continue;
    overlaps = true;
    contact.max_separation_speed = model_.contact.recovery_speed;
    contact.lift = law.is_barrier ? overlap + kBarrierStart * law.distance
                                  : std::max(0.0, overlap - h * model_.contact.recovery_speed);
  }
  return overlaps;
}

// Stiffness K with which the lighter body rests at δ/2 on one contact, or on all of its area.
double SmoothContactMaker::CalcStiffness(const ContactPoint& point,
                                         const StepBlocks& blocks) const {
  const SmoothOptions& options = model_.method.smooth;
  if (options.contact_stiffness > 0)
    return options.contact_stiffness * (point.area > 0 ? point.area : 1);
  double mass = std::numeric_limits<double>::infinity(), area = 1;
  for (const int index : {point.body_a, point.body_b}) {
    const Body& body = model_.bodies[index];
    if (body.block == kWorldBlock || blocks.is_prescribed[body.block]) continue;
    const double of_body = model_.blocks[body.block]->mass(body.part);
    if (of_body >= mass) continue;
    mass = of_body;
    area = rest_areas_[index];
  }
  const double a = std::max(model_.gravity.norm(), kMinGravity);
  const double share = point.area > 0 ? point.area / area : 1;
  return 4 * mass * a / (3 * options.contact_distance) * share;
}

}  // namespace pliant::physics
