#include "physics/contact/contact_detection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/contact/detection_workspace.h"
#include "physics/dynamics/faults/fault.h"
#include "physics/dynamics/parallel.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Below this many pairs, threads cost more than they save.
constexpr std::size_t kMinParallelPairs = 16;
// The same for bodies with deforming geometry.
constexpr int kMinParallelDeforming = 16;

double FindLargestFriction(const Model& model) {
  double largest = model.contact.friction;
  for (const ContactParameters::Pair& pair : model.contact.pairs) {
    largest = std::max(largest, pair.friction);
  }
  for (const Body& body : model.bodies) {
    for (const Shape& shape : body.shapes) largest = std::max(largest, shape.friction);
  }
  return largest;
}

GeometryKind FindKind(const Body& body) {
  if (!body.points.nodes.empty()) return GeometryKind::kPoints;
  if (!body.surface.triangles.empty()) return GeometryKind::kSurface;
  return GeometryKind::kShapes;
}

// Thickness of the thinnest shape [m]. Deeper than half of it, the opposite side is nearer.
double CalcThinnest(const Body& body) {
  double least = std::numeric_limits<double>::infinity();
  for (const Shape& shape : body.shapes) least = std::min(least, CalcThickness(shape.geometry));
  return least;
}

absl::Status FailNotFinite(const Model& model, int body_a, int body_b) {
  return FailAtContact(model, body_a, body_b, absl::InternalError("their contact is not finite"));
}

// Even in a dense pile, a body overlaps about 26 neighbours, which makes 13 pairs per body.
std::size_t CalcMaxPairs(const Model& model) {
  return (std::size_t{1} << 18) + 32 * model.bodies.size();
}

absl::Status FailCrowded(const BroadPhase& broad_phase) {
  return absl::ResourceExhaustedError(
      absl::StrCat("more than ", broad_phase.max_pairs(),
                   " pairs of bodies overlap or may meet within the step; place the bodies apart"));
}

}  // namespace

ContactDetector::ContactDetector(const Model& model)
    : model_(model), workspace_(std::make_unique<Workspace>()) {
  Workspace& w = *workspace_;
  w.broad_phase = BroadPhase(CalcMaxPairs(model));
  std::vector<const Shape*> shapes;
  for (const Body& body : model.bodies) {
    const GeometryKind kind = FindKind(body);
    w.kinds.push_back(kind);
    w.num_deforming += kind == GeometryKind::kShapes ? 0 : 1;
    if (kind == GeometryKind::kShapes)
      for (const Shape& shape : body.shapes) shapes.push_back(&shape);
    w.shape_starts.push_back(static_cast<int>(shapes.size()));
  }
  w.shapes = MakeCollisionShapes(shapes);
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const RigidTransform& X_WB = model.bodies[i].X_WB;
    for (int s = w.shape_starts[i]; s < w.shape_starts[i + 1]; ++s)
      w.now.shapes.emplace_back(w.shapes[s], X_WB * w.shapes[s].shape->X_BS);
  }
  w.ahead.shapes = w.now.shapes;
  for (Workspace::Places* places : {&w.now, &w.ahead}) {
    places->surfaces.resize(model.bodies.size());
    places->points.resize(model.bodies.size());
    places->geometries.resize(model.bodies.size());
    places->positions.resize(model.bodies.size());
  }
  for (int i = 0; i < static_cast<int>(model.bodies.size()); ++i) {
    w.MakeGeometry(model, i, &w.now);
    const CollisionGeometry& geometry = w.now.geometries[i];
    double thickness = CalcThinnest(model.bodies[i]);
    if (geometry.kind == GeometryKind::kSurface) thickness = geometry.surface->thickness();
    w.thickness.push_back(thickness);
    w.is_immovable.push_back(geometry.is_immovable);
    w.has_convex_shapes.push_back(
        geometry.kind == GeometryKind::kShapes &&
        std::ranges::all_of(geometry.shapes,
                            [](const PlacedShape& placed) { return placed.shape->is_convex(); }));
    w.is_ball.push_back(geometry.shapes.size() == 1 && geometry.shapes[0].shape->Is<Sphere>());
  }
  speculative_margin_ = CalcSafeTravel(model.contact.margin);
  for (Workspace::SweptBounds* bounds : {&w.swept, &w.new_swept}) {
    bounds->motions.resize(model.bodies.size());
    bounds->boxes.resize(model.bodies.size());
  }
  for (std::size_t i = 0; i < model.bodies.size(); ++i)
    if (w.kinds[i] == GeometryKind::kSurface && model.bodies[i].self_contact)
      w.selves.push_back(static_cast<int>(i));
  for (const Constraint& constraint : model.constraints)
    if (constraint.node_b >= 0 && constraint.body_a >= 0)
      w.held.push_back(
          {constraint.body_a, model.bodies[constraint.body_b].block, constraint.node_b});
  std::sort(w.held.begin(), w.held.end());
  w.extents.resize(model.bodies.size());
  w.largest_friction = FindLargestFriction(model);
  w.pair_starts.assign(model.bodies.size() + 1, 0);
  for (const ContactParameters::Pair& pair : model.contact.pairs) ++w.pair_starts[pair.body_a + 1];
  std::partial_sum(w.pair_starts.begin(), w.pair_starts.end(), w.pair_starts.begin());
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const int block = model.bodies[i].block;
    if (i == 0 || block == kWorldBlock || block != model.bodies[i - 1].block)
      w.group_starts.push_back(static_cast<int>(i));
  }
  w.group_starts.push_back(static_cast<int>(model.bodies.size()));
}

ContactDetector::~ContactDetector() = default;

double ContactDetector::thickness(int body) const {
  return workspace_->thickness[body];
}

// Creates the collision geometry of a body in `places`.
void ContactDetector::Workspace::MakeGeometry(const Model& model, int index, Places* places) const {
  const Body& body = model.bodies[index];
  CollisionGeometry& geometry = places->geometries[index];
  geometry.kind = kinds[index];
  switch (geometry.kind) {
    case GeometryKind::kShapes: {
      const int first = shape_starts[index], count = shape_starts[index + 1] - first;
      geometry.shapes = std::span(places->shapes).subspan(first, count);
      geometry.is_immovable = body.motion != Motion::kFree;
      break;
    }
    case GeometryKind::kSurface:
      places->surfaces[index] =
          std::make_unique<TriangleSurface>(body, *model.abilities_of(body).nodes);
      geometry.surface = places->surfaces[index].get();
      break;
    case GeometryKind::kPoints:
      places->points[index] = std::make_unique<PointSet>();
      geometry.points = places->points[index].get();
      for (std::size_t k = 0; k < body.points.nodes.size(); ++k) {
        PointSet::Point& point = places->points[index]->Add();
        point.radius = body.points.radii[k];
        point.sees_depth = body.points.sees_depth;
        point.area = kPi * point.radius * point.radius;
        point.nodes.Add(body.points.nodes[k], 1);
        point.is_prescribed =
            model.abilities_of(body).nodes->is_node_prescribed(body.points.nodes[k]);
      }
      break;
  }
}

void ContactDetector::Workspace::FindUnmoved(const Model& model, const State& state, double h) {
  const bool is_first = last_q.empty() || h != last_h;
  last_h = h;
  has_moved = is_first;
  was_still.resize(model.blocks.size());
  is_unmoved.resize(model.blocks.size());
  last_q.resize(state.q.size());
  for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b) {
    // velocities matter: sliding bodies may keep contacts at larger gaps
    const std::span<const double> q = model.Positions(state, b), v = model.Velocities(state, b);
    double* seen = last_q.data() + model.position_offsets[b];
    const bool is_still = std::all_of(v.begin(), v.end(), [](double x) { return x == 0; });
    is_unmoved[b] = !is_first && is_still && was_still[b] && std::equal(q.begin(), q.end(), seen);
    was_still[b] = is_still;
    has_moved = has_moved || !is_unmoved[b];
    if (!is_unmoved[b]) std::copy(q.begin(), q.end(), seen);
  }
}

template <typename F>
void ContactDetector::Workspace::ForEachBody(const Model& model, const F& f) const {
  const int count = static_cast<int>(model.bodies.size());
  // placing shapes is faster than starting threads
  if (num_deforming < kMinParallelDeforming) {
    for (int i = 0; i < count; ++i) f(i);
  } else {
    ParallelFor(count, 8, f);
  }
}

void ContactDetector::Workspace::CalcSweptBounds(const Model& model, const State& state,
                                                 const BodyMotions& motions, double h, int i,
                                                 double reach_of_speed, SweptBounds* bounds) const {
  AxisAlignedBox& box = bounds->boxes[i];
  box = extents[i];
  // a body without geometry touches nothing: its box stays empty
  if ((box.lower.array() > box.upper.array()).any()) return;
  MotionBound& motion = bounds->motions[i];
  motion = BoundMotion(model, state, motions, i, kinds[i], extents[i]);
  // include the bounds at the end of the step
  AxisAlignedBox later = extents[i];
  later.lower += h * motion.velocity;
  later.upper += h * motion.velocity;
  box.Include(later);
  box.Grow(0.5 * model.contact.margin +
           std::max(reach_of_speed * motion.speed(), h * motion.deviation));
}

void ContactDetector::Workspace::PlaceNodes(const Body& body, std::span<const double> positions,
                                            int index, Places* places) const {
  if (kinds[index] == GeometryKind::kSurface) {
    places->surfaces[index]->Update(positions);
  } else {
    places->points[index]->MoveTo([&](int k) { return VertexAt(positions, body.points.nodes[k]); });
  }
}

void ContactDetector::Workspace::Place(const Model& model, const State& state,
                                       const BodyMotions& motions, double h) {
  ForEachBody(model, [&](int i) {
    const Body& body = model.bodies[i];
    if (body.block != kWorldBlock && is_unmoved[body.block]) {
      if (kinds[i] == GeometryKind::kSurface)
        now.surfaces[i]->Rebind(model.Positions(state, body.block));
      return;
    }
    extents[i] = AxisAlignedBox{};
    if (kinds[i] != GeometryKind::kShapes) {
      PlaceNodes(body, model.Positions(state, body.block), i, &now);
      extents[i] = BoundsOf(now.geometries[i]);
    } else {
      const bool is_still = body.block == kWorldBlock;
      const RigidTransform& X_WB = motions[i].X_WB;
      for (int s = shape_starts[i]; s < shape_starts[i + 1]; ++s) {
        if (!is_still) now.shapes[s].Move(X_WB * shapes[s].shape->X_BS);
        extents[i].Include(now.shapes[s].bounds);
      }
    }
    CalcSweptBounds(model, state, motions, h, i, sliding_reach, &swept);
  });
}

bool ContactDetector::Workspace::MayMeet(const Model& model, double h, const SweptBounds& bounds,
                                         int a, int b, double reach) const {
  // motion relative to b
  AxisAlignedBox swept_box = extents[a], later = extents[a];
  const Vector3d moved = h * (bounds.motions[a].velocity - bounds.motions[b].velocity);
  later.lower += moved;
  later.upper += moved;
  swept_box.Include(later);
  swept_box.Grow(model.contact.margin +
                 std::max(reach, h * (bounds.motions[a].deviation + bounds.motions[b].deviation)));
  return swept_box.Overlaps(extents[b]);
}

bool ContactDetector::Workspace::MakeTask(const Model& model, double h, const SweptBounds& bounds,
                                          double reach_of_speed, int a, int b,
                                          PairTask* task) const {
  if (is_immovable[a] && is_immovable[b]) return false;
  // points of the same block interact through it, as particles do through their grid
  if (a != b && kinds[a] == GeometryKind::kPoints && kinds[b] == GeometryKind::kPoints &&
      model.bodies[a].block == model.bodies[b].block) {
    return false;
  }
  const std::vector<ContactParameters::Pair>& pairs = model.contact.pairs;
  const auto end = pairs.begin() + pair_starts[a + 1];
  const auto given = std::lower_bound(pairs.begin() + pair_starts[a], end, b,
                                      [](const auto& pair, int key) { return pair.body_b < key; });
  const bool is_given = given != end && given->body_b == b;
  if (is_given && !given->enabled) return false;
  const double approach = a == b ? 2 * bounds.motions[a].deviation
                                 : BoundApproach(bounds.motions[a], bounds.motions[b]);
  const double reach = reach_of_speed * approach;
  if (a != b && !MayMeet(model, h, bounds, a, b, reach)) return false;
  *task = {a, b, is_given ? &*given : nullptr, approach, reach};
  return true;
}

absl::Status ContactDetector::Workspace::FindTasks(const Model& model, double h) {
  if (!has_moved) {
    is_known.assign(tasks.size(), 1);
    return absl::OkStatus();
  }
  tasks.swap(last_tasks);
  found.swap(last_found);
  tasks.clear();
  is_known.clear();
  outdated.clear();
  needed.assign(model.bodies.size(), Needed::kNothing);
  std::size_t last = 0;
  overlaps = broad_phase.FindOverlaps(swept.boxes, group_starts);
  if (broad_phase.gave_up()) {
    last_q.clear();  // the next call reuses nothing
    return FailCrowded(broad_phase);
  }
  if (!selves.empty()) {
    for (int body : selves) overlaps.emplace_back(body, body);
    std::sort(overlaps.begin(), overlaps.end());
  }
  for (const auto& [a, b] : overlaps) {
    PairTask task;
    if (!MakeTask(model, h, swept, sliding_reach, a, b, &task)) continue;
    tasks.push_back(task);
    if (found.size() < tasks.size()) found.resize(tasks.size());
    is_known.push_back(0);
    if (is_body_unmoved(model.bodies[a]) && is_body_unmoved(model.bodies[b])) {
      // both lists of pairs ascend
      while (last < last_tasks.size() &&
             std::pair(last_tasks[last].body_a, last_tasks[last].body_b) < std::pair(a, b))
        ++last;
      if (last < last_tasks.size() && last_tasks[last].body_a == a &&
          last_tasks[last].body_b == b) {
        is_known.back() = 1;
        std::swap(found[tasks.size() - 1], last_found[last]);
        continue;
      }
    }
    for (const int body : {a, b}) {
      const Needed of_pair = FindNeeded(kinds[body], kinds[body == a ? b : a]);
      if (of_pair == Needed::kNothing) continue;
      if (needed[body] == Needed::kNothing) outdated.push_back(body);
      needed[body] = std::max(needed[body], of_pair);
    }
  }

  // update surfaces that pairs share before the pairs run in parallel
  const auto update = [&](int i) {
    const int body = outdated[i];
    now.surfaces[body]->UpdateTriangles();
    if (needed[body] == Needed::kTree) now.surfaces[body]->UpdateTree();
  };
  const int count = static_cast<int>(outdated.size());
  if (count < 2) {
    for (int i = 0; i < count; ++i) update(i);
  } else {
    ParallelFor(count, 1, update);
  }
  return absl::OkStatus();
}

int ContactDetector::Workspace::CountFastBodies(const Model& model, double h) const {
  if (!has_moved) return 0;
  int count = 0;
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    if (model.bodies[i].block == kWorldBlock) continue;
    const double length = (extents[i].upper - extents[i].lower).maxCoeff();
    const double squared = swept.motions[i].velocity.squaredNorm();
    if (length > 0 && h * h * squared > length * length) ++count;
  }
  return count;
}

void ContactDetector::Counts::Add(const Counts& others) {
  manifold_points_dropped += others.manifold_points_dropped;
  speculative_dropped += others.speculative_dropped;
  nonfinite += others.nonfinite;
  collapsed += others.collapsed;
  too_fast += others.too_fast;
}

absl::Status ContactDetector::Detect(const State& state, const BodyMotions& motions, double h,
                                     std::vector<ContactPoint>* contacts) {
  Workspace& w = *workspace_;
  w.FindUnmoved(model_, state, h);
  // only contacts that persist are kept at larger gaps
  w.sliding_time = state.contacts.empty() ? 0 : sliding_time_;
  w.sliding_reach = w.sliding_time * std::min(w.largest_friction, kMaxSlidingFriction);
  w.Place(model_, state, motions, h);
  contacts->clear();
  counts_ = {};
  if (absl::Status status = w.FindTasks(model_, h); !status.ok()) return status;

  // each pair writes its own list, so the order of contacts does not depend on threads
  const auto collide = [&](int i) {
    if (w.is_known[i]) return;
    w.Collide(model_, state, motions, h, w.tasks[i], &w.scratch.local(), &w.found[i]);
  };
  const int count = static_cast<int>(w.tasks.size());
  if (w.tasks.size() < kMinParallelPairs) {
    for (int i = 0; i < count; ++i) collide(i);
  } else {
    ParallelFor(count, 8, collide);
  }
  for (std::size_t i = 0; i < w.tasks.size(); ++i) {
    Workspace::PairContacts& pair = w.found[i];
    if (w.is_known[i] || (pair.doubtful.empty() && !pair.is_at_times)) continue;
    w.FindSpeculative(model_, state, motions, h, w.swept, w.tasks[i], pair.is_at_times, pair.points,
                      &pair.doubtful, &pair.points, &pair.counts);
    SortContacts(&pair.points);
  }
  counts_.too_fast = w.CountFastBodies(model_, h);
  absl::Status status;
  for (std::size_t i = 0; i < w.tasks.size(); ++i) {
    const Workspace::PairContacts& of_pair = w.found[i];
    contacts->insert(contacts->end(), of_pair.points.begin(), of_pair.points.end());
    counts_.Add(of_pair.counts);
    if (of_pair.counts.nonfinite > 0 && status.ok())
      status = FailNotFinite(model_, w.tasks[i].body_a, w.tasks[i].body_b);
  }
  return status;
}

absl::Status ContactDetector::DetectAhead(const State& state, const BodyMotions& motions, double h,
                                          std::span<const char> changed,
                                          std::vector<ContactPoint>* contacts) {
  Workspace& w = *workspace_;
  // present contacts are known already
  constexpr double kNoReach = 0;
  w.ForEachBody(model_, [&](int i) {
    w.CalcSweptBounds(model_, state, motions, h, i, kNoReach, &w.new_swept);
  });
  w.overlaps = w.broad_phase.FindOverlapsOf(changed, w.new_swept.boxes, w.group_starts);
  if (w.broad_phase.gave_up()) return FailCrowded(w.broad_phase);
  for (const int body : w.selves)
    if (changed[body]) w.overlaps.emplace_back(body, body);
  std::sort(w.overlaps.begin(), w.overlaps.end());
  for (const auto& [a, b] : w.overlaps) {
    Workspace::PairTask task;
    if (!w.MakeTask(model_, h, w.new_swept, kNoReach, a, b, &task)) continue;
    // tasks are sorted by pair
    const auto before = std::lower_bound(
        w.tasks.begin(), w.tasks.end(), std::pair(a, b),
        [](const auto& x, const auto& pair) { return std::pair(x.body_a, x.body_b) < pair; });
    const bool was_task = before != w.tasks.end() && before->body_a == a && before->body_b == b;
    Workspace::PairContacts* last = was_task ? &w.found[before - w.tasks.begin()] : nullptr;
    Counts counts;
    w.FindAhead(model_, state, motions, h, task, last, contacts, &counts);
    counts_.Add(counts);
    if (counts.nonfinite > 0) return FailNotFinite(model_, a, b);
  }
  return absl::OkStatus();
}

std::vector<ContactPoint> ContactDetector::Detect(const State& state, double h) {
  BodyMotions motions(model_);
  motions.Update(state);
  std::vector<ContactPoint> contacts;
  Detect(state, motions, h, &contacts).IgnoreError();
  return contacts;
}

}  // namespace pliant::physics
