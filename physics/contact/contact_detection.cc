#include "physics/contact/contact_detection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include <tbb/enumerable_thread_specific.h>

#include "physics/contact/broad_phase.h"
#include "physics/contact/geometries/collision_geometry.h"
#include "physics/contact/pairs/contact_key.h"
#include "physics/contact/pairs/pair_table.h"
#include "physics/contact/speculation.h"
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

// A contact polygon lies within this part of the margin of its deepest point.
constexpr double kPolygonDepth = 0.1;

// Combine the values of two shapes: the mean of frictions, stiffnesses in series. A negative value
// is unset, and the other one applies.
double CombineFriction(double a, double b) {
  return a < 0 ? b : b < 0 ? a : 0.5 * (a + b);
}
double CombineStiffness(double a, double b) {
  if (a < 0 || b < 0) return std::max(a, b);
  if (std::isinf(a) || std::isinf(b)) return std::min(a, b);
  return a + b > 0 ? a * b / (a + b) : 0;
}

// Cosine of the angle within which a contact's normal is that of a face.
constexpr double kAlongFaceNormal = 1 - 1e-6;

// Friction beyond which the gliding gap grows no further: with more, bodies do not slide for long,
// and passing bodies must not be held.
constexpr double kMaxGlidingFriction = 2;

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

void SortContacts(std::vector<ContactPoint>* contacts) {
  // sort by key; where two features coincide, keep the deeper contact
  std::sort(contacts->begin(), contacts->end(), [](const ContactPoint& x, const ContactPoint& y) {
    return std::pair(x.key, x.gap) < std::pair(y.key, y.gap);
  });
  contacts->erase(
      std::unique(contacts->begin(), contacts->end(),
                  [](const ContactPoint& x, const ContactPoint& y) { return x.key == y.key; }),
      contacts->end());
}

}  // namespace

struct ContactDetector::Workspace {
  double largest_friction = 0;
  int num_deforming = 0;            // bodies with a surface or points
  double sliding_reach = 0;         // gliding gap per sliding speed [m / (m/s)]
  std::vector<GeometryKind> kinds;  // per body
  // shapes of all bodies; those of body i begin at shape_starts[i]
  std::vector<CollisionShape> shapes;
  std::vector<int> shape_starts{0};
  // Collision geometry at present positions, or at later ones on request.
  struct Places {
    std::vector<PlacedShape> shapes;
    // per body; null for other kinds
    std::vector<std::unique_ptr<TriangleSurface>> surfaces;
    std::vector<std::unique_ptr<PointSet>> points;
    std::vector<CollisionGeometry> geometries;
    std::vector<std::vector<double>> positions;  // of the nodes per body, unless the state's
  };
  Places now, ahead;
  std::vector<double> thickness;  // per body [m]
  std::vector<int> selves;        // bodies with self-contact
  // Nodes attached to a body of another block, ascending. A node does not touch its holder.
  struct HeldNode {
    int holder, block, node;
    auto operator<=>(const HeldNode&) const = default;
  };
  std::vector<HeldNode> held;
  bool IsHeld(int holder, const Attachment& side) const;
  std::vector<std::pair<int, int>> overlaps;
  std::vector<int> pair_starts;  // first pair of each body_a in the model's pairs
  std::vector<char> is_immovable;
  std::vector<int> group_starts;  // first body of each run of bodies in one block

  std::vector<AxisAlignedBox> extents;  // per body
  // Bounds on where bodies may be during the step, by their velocities at its start or by the
  // solved velocities.
  struct SweptBounds {
    std::vector<MotionBound> motions;   // per body
    std::vector<AxisAlignedBox> boxes;  // swept, grown by half the margin and the sliding reach
  };
  SweptBounds swept, new_swept;
  BroadPhase broad_phase;

  struct PairTask {
    int body_a, body_b;
    const ContactParameters::Pair* pair;
    double approach;  // bound on the approach speed [m/s]
    double reach;     // largest gliding gap [m]
  };
  std::vector<PairTask> tasks, last_tasks;
  // surface data that the tasks need
  enum class Needed { kNothing, kTriangles, kTree };
  std::vector<Needed> needed;  // per body
  std::vector<int> outdated;   // bodies that need an update
  struct PairContacts {
    std::vector<ContactPoint> points;
    // Features beyond the margin that do not close in the step by the motion at its start.
    std::vector<ContactPoint> apart;
    double reach = 0;  // all features with smaller gaps are in one of the lists [m]
    // Keys, ascending, of points that may pass each other before they touch.
    std::vector<std::uint64_t> doubtful;
    Counts counts;
  };
  std::vector<PairContacts> found, last_found;  // per task
  PairContacts changed;                         // of a pair whose motion has changed
  const std::vector<ContactPoint> nothing;
  std::vector<char> is_known;  // per task: found before, and neither body has moved since

  // unmoved blocks: at rest at this and the last call, in the same position
  double last_h = 0;
  std::vector<double> last_q;
  std::vector<char> was_still, is_unmoved;
  bool has_moved = true;  // any block
  struct Scratch {
    NarrowScratch narrow;
    std::vector<Touch> touches;
    SpeculationScratch speculation;
    std::vector<ContactPoint> appended;
  };
  tbb::enumerable_thread_specific<Scratch> scratch;

  void FindUnmoved(const Model& model, const State& state, double h);
  bool is_body_unmoved(const Body& body) const {
    return body.block == kWorldBlock || is_unmoved[body.block];
  }
  void MakeGeometry(const Model& model, int body, Places* places) const;
  void Place(const Model& model, const State& state, const BodyMotions& motions, double h);
  // Places a body's surface or points.
  void PlaceNodes(const Body& body, std::span<const double> positions, int index,
                  Places* places) const;
  const AxisAlignedBox& BoundsOf(const CollisionGeometry& geometry) const {
    return geometry.kind == GeometryKind::kSurface ? geometry.surface->bounds()
                                                   : geometry.points->bounds();
  }
  // Surface data of the first body that a pair of these kinds needs: the tree only against another
  // surface or points.
  static Needed FindNeeded(GeometryKind kind, GeometryKind other) {
    if (kind != GeometryKind::kSurface) return Needed::kNothing;
    return other == GeometryKind::kShapes ? Needed::kTriangles : Needed::kTree;
  }
  // Bounds where a placed body may be during the step.
  void CalcSweptBounds(const Model& model, const State& state, const BodyMotions& motions, double h,
                       int body, double reach_of_speed, SweptBounds* bounds) const;
  template <typename F>
  void ForEachBody(const Model& model, const F& f) const;
  void FindTasks(const Model& model, double h);
  // Fills in the task of two bodies whose swept bounds overlap; false if there is nothing to do.
  bool MakeTask(const Model& model, double h, const SweptBounds& bounds, double reach_of_speed,
                int a, int b, PairTask* task) const;
  // Whether two bodies may come within the margin plus `reach`, or pass each other, during the
  // step.
  bool MayMeet(const Model& model, double h, const SweptBounds& bounds, int a, int b,
               double reach) const;
  void Collide(const Model& model, const State& state, const BodyMotions& motions, double h,
               const PairTask& task, Scratch* buffers, PairContacts* contacts) const;
  // Appends the contacts of a pair with gap below `margin`, and counts those left out.
  void CollideAt(const Places& places, const Model& model, const State& state, double h,
                 const PairTask& task, double margin, Scratch* buffers,
                 std::vector<ContactPoint>* contacts, Counts* counts) const;
  void PlaceAhead(const Model& model, const State& state, const BodyMotions& motions, int body,
                  double t);
  // How far the contacts of a pair are sought, given how far its bodies move in the step: within the
  // margin; as far as they move; or at several times, where they may pass through each other.
  enum class Search { kMargin, kAhead, kAtTimes };
  Search FindSearch(const Model& model, double h, const PairTask& task) const;
  // Sorts the features that Collide found into contacts and those that stay apart.
  void SelectClosing(const Model& model, const State& state, const BodyMotions& motions, double h,
                     double margin, PairContacts* contacts) const;
  // Whether two features that near each other with this relative velocity of B must touch: one of
  // them stays over a face of the other body.
  bool MustTouch(const ContactPoint& point, const Vector3d& v_AB) const;
  // CollideAt after a time t of steady motion, with ascending keys.
  void CollideLater(const Model& model, const State& state, const BodyMotions& motions, double h,
                    const PairTask& task, double t, double margin, Scratch* buffers,
                    std::vector<ContactPoint>* met, Counts* counts);
  // Appends the contacts that a pair makes within the step by a changed motion, near enough to be
  // found at its start. `last` are its contacts before; null if it had none.
  void FindAhead(const Model& model, const State& state, const BodyMotions& motions, double h,
                 const PairTask& task, const PairContacts* last,
                 std::vector<ContactPoint>* contacts, Counts* counts);
  // Appends the contacts that a pair of bodies makes during the step besides the known ones, with
  // ascending keys.
  void FindSpeculative(const Model& model, const State& state, const BodyMotions& motions, double h,
                       const PairTask& task, const std::vector<ContactPoint>& known,
                       std::vector<std::uint64_t>* doubtful, std::vector<ContactPoint>* contacts,
                       Counts* counts);
};

ContactDetector::ContactDetector(const Model& model)
    : model_(model), workspace_(std::make_unique<Workspace>()) {
  Workspace& w = *workspace_;
  for (const Body& body : model.bodies) {
    const GeometryKind kind = FindKind(body);
    w.kinds.push_back(kind);
    w.num_deforming += kind == GeometryKind::kShapes ? 0 : 1;
    if (kind == GeometryKind::kShapes)
      for (const Shape& shape : body.shapes) w.shapes.emplace_back(shape);
    w.shape_starts.push_back(static_cast<int>(w.shapes.size()));
  }
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
    // velocities matter: sliding bodies keep contacts at larger gaps
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

void ContactDetector::Workspace::FindTasks(const Model& model, double h) {
  if (!has_moved) {
    is_known.assign(tasks.size(), 1);
    return;
  }
  tasks.swap(last_tasks);
  found.swap(last_found);
  tasks.clear();
  is_known.clear();
  outdated.clear();
  needed.assign(model.bodies.size(), Needed::kNothing);
  std::size_t last = 0;
  overlaps = broad_phase.FindOverlaps(swept.boxes, group_starts);
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
}

bool ContactDetector::Workspace::IsHeld(int holder, const Attachment& side) const {
  if (held.empty() || side.nodes.empty()) return false;
  for (int k = 0; k < side.nodes.size(); ++k) {
    const HeldNode node{holder, side.block, side.nodes.node(k)};
    if (side.nodes.weight(k) > 0 && !std::binary_search(held.begin(), held.end(), node))
      return false;
  }
  return true;
}

void ContactDetector::Workspace::CollideAt(const Places& places, const Model& model,
                                           const State& state, double h, const PairTask& task,
                                           double margin, Scratch* buffers,
                                           std::vector<ContactPoint>* contacts,
                                           Counts* counts) const {
  const int a = task.body_a, b = task.body_b;
  const Body &body_a = model.bodies[a], &body_b = model.bodies[b];
  std::vector<Touch>& touches = buffers->touches;
  touches.clear();
  PairSettings settings;
  settings.margin = margin;
  settings.by_polygons = model.contact.patches == ContactParameters::Patches::kPolygons;
  // relative to the model's margin: `margin` grows with the approach speed, on which polygons must
  // not depend
  settings.polygons = {kPolygonDepth * model.contact.margin, model.contact.patch_divisions};
  if (a == b) {
    CollideWithSelf(places.geometries[a], settings, &buffers->narrow, &touches);
  } else {
    CollideGeometries(places.geometries[a], places.geometries[b], settings, &buffers->narrow,
                      &touches);
  }
  counts->manifold_points_dropped += buffers->narrow.TakePointsDropped();

  const auto shape_of = [](const Body& body, const ContactFeature& feature) {
    return feature.kind == ContactFeature::Kind::kShape ? &body.shapes[feature.index] : nullptr;
  };
  const auto attach = [](const Body& body, const Touch& touch, NodeWeights* nodes,
                         Attachment* attachment) {
    attachment->block = body.block;
    if (nodes->empty()) {
      attachment->frame = body.frame;
    } else {
      attachment->nodes = std::move(*nodes);
    }
    attachment->p_W = touch.p_W;
  };
  const auto local = [](const ContactFeature& feature) {
    return feature.kind == ContactFeature::Kind::kShape ? static_cast<std::uint64_t>(feature.index)
                                                        : 0;
  };
  for (Touch& touch : touches) {
    if (!touch.nhat_AB_W.allFinite() || !touch.p_W.allFinite() || !std::isfinite(touch.gap)) {
      ++counts->nonfinite;
      continue;
    }
    // a collapsed surface has no direction of separation
    if (!(touch.nhat_AB_W.squaredNorm() > 0.5)) {
      ++counts->collapsed;
      continue;
    }
    const std::uint64_t key =
        MixKey({static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b),
                local(touch.feature_a), local(touch.feature_b), touch.feature});
    // a contact by a sliver counts only while it bears a load
    if (touch.is_sliver && FindContactMemory(state.contacts, key) == nullptr) continue;
    // constructed in place: a contact is large
    ContactPoint& point = contacts->emplace_back();
    attach(body_a, touch, &touch.a, &point.a);
    attach(body_b, touch, &touch.b, &point.b);
    if (IsHeld(a, point.b) || IsHeld(b, point.a)) {
      contacts->pop_back();
      continue;
    }
    point.feature_a = touch.feature_a;
    point.feature_b = touch.feature_b;
    point.body_a = a;
    point.body_b = b;
    point.p_W = touch.p_W;
    point.R_WC = FrameFromNormal(touch.nhat_AB_W);
    point.gap = touch.gap;
    point.area = touch.area;
    const Shape *shape_a = shape_of(body_a, touch.feature_a),
                *shape_b = shape_of(body_b, touch.feature_b);
    double friction =
        CombineFriction(shape_a ? shape_a->friction : -1, shape_b ? shape_b->friction : -1);
    double stiffness =
        CombineStiffness(shape_a ? shape_a->stiffness : -1, shape_b ? shape_b->stiffness : -1);
    if (task.pair && task.pair->friction >= 0) friction = task.pair->friction;
    if (task.pair && task.pair->stiffness >= 0) stiffness = task.pair->stiffness;
    point.friction = friction < 0 ? model.contact.friction : friction;
    point.stiffness = stiffness < 0 ? model.contact.stiffness : stiffness;
    point.relaxation_time = model.contact.relaxation_time < 0 ? h : model.contact.relaxation_time;
    point.key = key;
  }
}

void ContactDetector::Workspace::Collide(const Model& model, const State& state,
                                         const BodyMotions& motions, double h, const PairTask& task,
                                         Scratch* buffers, PairContacts* contacts) const {
  contacts->points.clear();
  contacts->apart.clear();
  contacts->doubtful.clear();
  contacts->counts = {};
  const bool looks_ahead = FindSearch(model, h, task) == Search::kAhead;
  contacts->reach = model.contact.margin + (looks_ahead ? h * task.approach : 0);
  const double margin = std::max(contacts->reach, model.contact.margin + task.reach);
  CollideAt(now, model, state, h, task, margin, buffers, &contacts->points, &contacts->counts);
  SelectClosing(model, state, motions, h, model.contact.margin, contacts);
  SortContacts(&contacts->points);
}

void ContactDetector::Workspace::SelectClosing(const Model& model, const State& state,
                                               const BodyMotions& motions, double h, double margin,
                                               PairContacts* contacts) const {
  std::erase_if(contacts->points, [&](ContactPoint& point) {
    if (!(point.gap > 0)) return false;
    const Vector3d v_AB =
        CalcAttachedVelocity(model, state, motions, point.b, point.body_b, point.b.p_W) -
        CalcAttachedVelocity(model, state, motions, point.a, point.body_a, point.a.p_W);
    const Vector3d n = point.R_WC.col(2);
    const double rate = n.dot(v_AB);
    const bool bears = FindContactMemory(state.contacts, point.key) != nullptr;
    if (bears) {
      // beyond the margin, up to its gliding gap
      const double gliding_gap = (h + point.relaxation_time) *
                                 std::min(point.friction, kMaxGlidingFriction) *
                                 std::sqrt((v_AB - rate * n).squaredNorm());
      if (point.gap < margin + gliding_gap) return false;
    }
    // gravity accelerates during the step
    const double slack = h * h * std::abs(n.dot(model.gravity));
    const bool is_closing = point.gap + h * rate < 0;
    if (point.gap >= margin) {
      if (point.gap + h * rate > slack) {
        if (point.gap < contacts->reach) contacts->apart.push_back(std::move(point));
        return true;
      }
      point.relaxation_time = 0;
      point.gap_rate = rate;
    }
    if (is_closing && !bears && !MustTouch(point, v_AB)) contacts->doubtful.push_back(point.key);
    return false;
  });
  std::sort(contacts->doubtful.begin(), contacts->doubtful.end());
}

bool ContactDetector::Workspace::MustTouch(const ContactPoint& point, const Vector3d& v_AB) const {
  // bodies with deforming geometry seldom pass each other that closely
  if (kinds[point.body_a] != GeometryKind::kShapes || kinds[point.body_b] != GeometryKind::kShapes)
    return true;
  const Vector3d n = point.R_WC.col(2);
  const double rate = n.dot(v_AB);
  if (!(rate < 0)) return true;
  const Vector3d drift = point.gap / -rate * (v_AB - rate * n);
  const auto stays_over = [&](int body, const ContactFeature& feature, const Vector3d& moved) {
    const PlacedShape& shape = now.shapes[shape_starts[body] + feature.index];
    if (shape.shape->Is<HalfSpace>()) return true;
    if (!shape.shape->Is<Box>()) return false;
    const Vector3d n_S = shape.X_WS.R.transpose() * n,
                   q = shape.X_WS.R.transpose() * (point.p_W + moved - shape.X_WS.p);
    int axis = 0;
    if (n_S.cwiseAbs().maxCoeff(&axis) < kAlongFaceNormal) return false;
    for (int i = 0; i < 3; ++i)
      if (i != axis && std::abs(q[i]) > shape.body.size[i]) return false;
    return true;
  };
  return stays_over(point.body_a, point.feature_a, drift) ||
         stays_over(point.body_b, point.feature_b, -drift);
}

void ContactDetector::Workspace::PlaceAhead(const Model& model, const State& state,
                                            const BodyMotions& motions, int index, double t) {
  // most bodies never need a surface or points ahead; shapes take no memory
  const CollisionGeometry& geometry = ahead.geometries[index];
  if (geometry.surface == nullptr && geometry.points == nullptr) MakeGeometry(model, index, &ahead);
  if (kinds[index] == GeometryKind::kShapes) {
    const RigidTransform X_WB = Advance(motions[index], t);
    for (int s = shape_starts[index]; s < shape_starts[index + 1]; ++s)
      ahead.shapes[s].Move(X_WB * shapes[s].shape->X_BS);
    return;
  }
  const Body& body = model.bodies[index];
  const std::span<const double> q = model.Positions(state, body.block),
                                v = model.Velocities(state, body.block);
  std::vector<double>& moved = ahead.positions[index];
  moved.assign(q.begin(), q.end());
  for (std::size_t i = 0; i < v.size(); ++i) moved[i] += t * v[i];
  PlaceNodes(body, moved, index, &ahead);
}

ContactDetector::Workspace::Search ContactDetector::Workspace::FindSearch(
    const Model& model, double h, const PairTask& task) const {
  const double travel = h * task.approach;
  if (travel <= CalcSafeTravel(model.contact.margin)) return Search::kMargin;
  return travel <= CalcSafeDepth(std::min(thickness[task.body_a], thickness[task.body_b]))
             ? Search::kAhead
             : Search::kAtTimes;
}

void ContactDetector::Workspace::CollideLater(const Model& model, const State& state,
                                              const BodyMotions& motions, double h,
                                              const PairTask& task, double t, double margin,
                                              Scratch* buffers, std::vector<ContactPoint>* met,
                                              Counts* counts) {
  const int a = task.body_a, b = task.body_b;
  PlaceAhead(model, state, motions, a, t);
  if (b != a) PlaceAhead(model, state, motions, b, t);
  for (const int body : {a, b}) {
    const Needed of_pair = FindNeeded(kinds[body], kinds[body == a ? b : a]);
    if (of_pair == Needed::kNothing) continue;
    ahead.surfaces[body]->UpdateTriangles();
    if (of_pair == Needed::kTree) ahead.surfaces[body]->UpdateTree();
  }
  // points dropped from manifolds ahead are not counted
  Counts at_this_time;
  CollideAt(ahead, model, state, h, task, margin, buffers, met, &at_this_time);
  counts->nonfinite += at_this_time.nonfinite;
  SortContacts(met);
}

void ContactDetector::Workspace::FindSpeculative(const Model& model, const State& state,
                                                 const BodyMotions& motions, double h,
                                                 const PairTask& task,
                                                 const std::vector<ContactPoint>& known,
                                                 std::vector<std::uint64_t>* doubtful,
                                                 std::vector<ContactPoint>* contacts,
                                                 Counts* counts) {
  const int a = task.body_a, b = task.body_b;
  Scratch* buffers = &scratch.local();
  const auto collide = [&](double t, double margin, std::vector<ContactPoint>* met) {
    CollideLater(model, state, motions, h, task, t, margin, buffers, met, counts);
  };
  const double thinner = std::min(thickness[a], thickness[b]);
  buffers->appended.clear();
  const bool all_known = FindSearch(model, h, task) != Search::kAtTimes;
  counts->speculative_dropped += AppendSpeculativeContacts(
      model, state, motions, h,
      {task.approach, thinner, model.contact.margin, all_known, std::ref(collide)}, known,
      &buffers->speculation, &buffers->appended, doubtful);
  // what is still doubtful passes
  std::erase_if(*contacts, [&](const ContactPoint& point) {
    return std::binary_search(doubtful->begin(), doubtful->end(), point.key);
  });
  SortContacts(&buffers->appended);
  contacts->insert(contacts->end(), buffers->appended.begin(), buffers->appended.end());
}

void ContactDetector::Workspace::FindAhead(const Model& model, const State& state,
                                           const BodyMotions& motions, double h,
                                           const PairTask& task, const PairContacts* last,
                                           std::vector<ContactPoint>* contacts, Counts* counts) {
  PairContacts& found_ahead = changed;
  found_ahead.points.clear();
  found_ahead.apart.clear();
  found_ahead.doubtful.clear();
  const double travel = h * task.approach;
  if (last != nullptr && travel <= last->reach) {
    // a feature that may close is known
    found_ahead.reach = last->reach;
    found_ahead.points = last->apart;
  } else {
    found_ahead.reach = model.contact.margin + travel;
    CollideLater(model, state, motions, h, task, 0, found_ahead.reach, &scratch.local(),
                 &found_ahead.points, counts);
  }
  SelectClosing(model, state, motions, h, 0, &found_ahead);
  if (!found_ahead.doubtful.empty())
    FindSpeculative(model, state, motions, h, task, found_ahead.points, &found_ahead.doubtful,
                    &found_ahead.points, counts);
  contacts->insert(contacts->end(), found_ahead.points.begin(), found_ahead.points.end());
}

void ContactDetector::Counts::Add(const Counts& others) {
  manifold_points_dropped += others.manifold_points_dropped;
  speculative_dropped += others.speculative_dropped;
  nonfinite += others.nonfinite;
  collapsed += others.collapsed;
}

absl::Status ContactDetector::Detect(const State& state, const BodyMotions& motions, double h,
                                     std::vector<ContactPoint>* contacts) {
  Workspace& w = *workspace_;
  const double relaxation_time =
      model_.contact.relaxation_time < 0 ? h : model_.contact.relaxation_time;
  w.FindUnmoved(model_, state, h);
  // only contacts that persist have a gliding gap
  w.sliding_reach = state.contacts.empty()
                        ? 0
                        : (h + relaxation_time) * std::min(w.largest_friction, kMaxGlidingFriction);
  w.Place(model_, state, motions, h);
  w.FindTasks(model_, h);

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
    if (w.is_known[i] || (pair.doubtful.empty() && w.FindSearch(model_, h, w.tasks[i]) !=
                                                       Workspace::Search::kAtTimes))
      continue;
    w.FindSpeculative(model_, state, motions, h, w.tasks[i], pair.points, &pair.doubtful,
                      &pair.points, &pair.counts);
    SortContacts(&pair.points);
  }
  contacts->clear();
  counts_ = {};
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
  // present contacts are known already, so no gliding gap is needed
  constexpr double kNoReach = 0;
  w.ForEachBody(model_, [&](int i) {
    w.CalcSweptBounds(model_, state, motions, h, i, kNoReach, &w.new_swept);
  });
  w.overlaps = w.broad_phase.FindOverlapsOf(changed, w.new_swept.boxes, w.group_starts);
  for (const int body : w.selves)
    if (changed[body]) w.overlaps.emplace_back(body, body);
  std::sort(w.overlaps.begin(), w.overlaps.end());
  for (const auto& [a, b] : w.overlaps) {
    Workspace::PairTask task;
    if (!w.MakeTask(model_, h, w.new_swept, kNoReach, a, b, &task)) continue;
    const Workspace::Search search = w.FindSearch(model_, h, task);
    if (search == Workspace::Search::kMargin) continue;
    // tasks are sorted by pair
    const auto before = std::lower_bound(
        w.tasks.begin(), w.tasks.end(), std::pair(a, b),
        [](const auto& x, const auto& pair) { return std::pair(x.body_a, x.body_b) < pair; });
    const bool was_task = before != w.tasks.end() && before->body_a == a && before->body_b == b;
    Workspace::PairContacts* last =
        was_task ? &w.found[before - w.tasks.begin()] : nullptr;
    Counts counts;
    if (search == Workspace::Search::kAhead) {
      w.FindAhead(model_, state, motions, h, task, last, contacts, &counts);
    } else {
      std::vector<std::uint64_t> doubtful;
      w.FindSpeculative(model_, state, motions, h, task, was_task ? last->points : w.nothing,
                        &doubtful, contacts, &counts);
    }
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
