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
#include "physics/contact/contact_key.h"
#include "physics/contact/look_ahead.h"
#include "physics/contact/narrow_phase.h"
#include "physics/dynamics/faults/fault.h"
#include "physics/dynamics/parallel.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// below this many pairs the threads cost more than they bring
constexpr std::size_t kFewPairs = 16;
// and below this many deformable bodies
constexpr int kFewSoft = 16;

// of the margin: within so much of its deepest point a polygon lies
constexpr double kPolygonDepth = 0.1;

// Two shapes' values into one: the mean of frictions, the series of springs; one value alone
// stands.
double CombineFriction(double a, double b) {
  return a < 0 ? b : b < 0 ? a : 0.5 * (a + b);
}
double CombineStiffness(double a, double b) {
  if (a < 0 || b < 0) return std::max(a, b);
  if (std::isinf(a) || std::isinf(b)) return std::min(a, b);
  return a + b > 0 ? a * b / (a + b) : 0;
}

// How fast the two sides of a contact slide on each other [m/s].
double CalcSlidingSpeed(const Model& model, const State& state, const BodyMotions& motions,
                        const ContactPoint& point) {
  const Vector3d v =
      CalcAttachedVelocity(model, state, motions, point.b, point.body_b, point.b.p_W) -
      CalcAttachedVelocity(model, state, motions, point.a, point.body_a, point.a.p_W);
  const Vector3d n = point.R_WC.col(2);
  return std::sqrt((v - n * n.dot(v)).squaredNorm());
}

// Tells how a contact changes with the motion of its sides: `a` and `b` are rigid shapes, null for
// what deforms.
void DescribeMotion(const PlacedShape* a, const PlacedShape* b, ContactPoint* point) {
  const Vector3d n = point->R_WC.col(2);
  SurfaceKind of_a, of_b;
  if (a != nullptr) of_a = DescribeSurface(a->shape->shape->geometry, a->X_WS.R.transpose() * n);
  if (b != nullptr) of_b = DescribeSurface(b->shape->shape->geometry, b->X_WS.R.transpose() * -n);
  point->radius_a = of_a.radius;
  point->radius_b = of_b.radius;
  const bool is_triangle_a = point->a.num_nodes >= 3, is_triangle_b = point->b.num_nodes >= 3;
  if (of_a.face > 0 || of_b.face > 0) {
    point->normal_source = of_a.face >= of_b.face ? NormalSource::kA : NormalSource::kB;
  } else if (is_triangle_a || is_triangle_b) {
    point->normal_source = is_triangle_a ? NormalSource::kA : NormalSource::kB;
  } else if (of_a.radius + of_b.radius > 0) {
    point->normal_source = NormalSource::kBetween;
    if (a != nullptr) point->axis_W = a->X_WS.R * of_a.axis_S;
    // the axis of one of two rods says nothing: where they cross they touch as balls do
    if (b != nullptr && a == nullptr) point->axis_W = b->X_WS.R * of_b.axis_S;
    if (a != nullptr && b != nullptr) point->axis_W.setZero();
  } else if (a != nullptr && b != nullptr) {
    point->normal_source = NormalSource::kBoth;
  } else if (a != nullptr || b != nullptr) {
    point->normal_source = a != nullptr ? NormalSource::kA : NormalSource::kB;
  } else if (point->a.num_nodes == 2 && point->b.num_nodes == 2) {
    point->normal_source = NormalSource::kBoth;
  }
}

// Friction beyond which no gliding gap grows: nothing slides for long then, and what flies past is
// not to be held.
constexpr double kMostGlidingFriction = 2;

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

// Half through its thinnest part the way out on the other side is nearer [m].
double CalcRigidThickness(const Body& body) {
  double least = std::numeric_limits<double>::infinity();
  for (const Shape& shape : body.shapes) least = std::min(least, CalcThickness(shape.geometry));
  return least;
}

absl::Status FailNotFinite(const Model& model, int body_a, int body_b) {
  return FailAtContact(model, body_a, body_b, absl::InternalError("their contact is not finite"));
}

void SortContacts(std::vector<ContactPoint>* contacts) {
  // ascending keys, one of each; the deeper one where two features fall together
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
  int num_soft = 0;
  double sliding_reach = 0;  // by the speed at which two bodies slide on each other [m / (m/s)]
  // shapes of all rigid bodies, placed; those of body i from shape_starts[i] on
  std::vector<CollisionShape> shapes;
  std::vector<int> shape_starts{0};
  // where everything is: now, and, where it has been asked for, later on
  struct Places {
    std::vector<PlacedShape> shapes;
    std::vector<std::unique_ptr<SoftSurface>> soft;  // per body; null for a rigid one
    std::vector<std::vector<double>> positions;      // per body, of its nodes, when not the state's
  };
  Places now, ahead;
  std::vector<double> thickness;  // per body [m]
  std::vector<int> selves;        // bodies that may touch themselves
  // (rigid body, node of a deformable one's block) of attachments, ascending: what is held does not
  // touch its holder
  struct HeldNode {
    int holder, block, node;
    auto operator<=>(const HeldNode&) const = default;
  };
  std::vector<HeldNode> held;
  bool IsHeld(int holder, const Attachment& soft) const;
  std::vector<std::pair<int, int>> overlaps;
  std::vector<int> pair_starts;  // in the model's pairs, of each body_a
  std::vector<char> is_immovable;
  std::vector<int> group_starts;  // bodies of one block that follow each other

  std::vector<AxisAlignedBox> extents;  // per body
  // How all bodies move through the step: as it began, and as they do once their velocities have
  // been solved for.
  struct Ways {
    std::vector<MotionBound> moving;  // per body
    std::vector<AxisAlignedBox>
        bounds;  // of its way, grown by half the margin and the reach of sliding
  };
  Ways ways, new_ways;
  BroadPhase broad_phase;

  struct PairTask {
    int body_a, body_b;
    const ContactParameters::Pair* pair;
    double approach;  // bound on the speed at which the two near each other [m/s]
    double reach;     // how far sliding contact may hold them apart [m]
  };
  std::vector<PairTask> tasks, last_tasks;
  // what the tasks need of the bodies that deform
  enum class Needed { kNothing, kTriangles, kTree };
  std::vector<Needed> needed;  // per body
  std::vector<int> outdated;   // bodies of which anything is needed
  struct PairContacts {
    std::vector<ContactPoint> points;
    Counts counts;
  };
  std::vector<PairContacts> found, last_found;  // per task
  const std::vector<ContactPoint> nothing;
  std::vector<char> is_known;  // per task: found before, and neither body has moved since

  // per block: whether it stands still where it stood at the last call
  double last_h = 0;
  std::vector<double> last_q;
  std::vector<char> was_still, is_unmoved;
  bool has_moved = true;  // any of them
  struct Scratch {
    NarrowScratch narrow;
    std::vector<Touch> touches;
    AheadScratch ahead;
    std::vector<ContactPoint> appended;
  };
  tbb::enumerable_thread_specific<Scratch> scratch;

  void FindUnmoved(const Model& model, const State& state, double h);
  bool is_body_unmoved(const Body& body) const {
    return body.block == kWorldBlock || is_unmoved[body.block];
  }
  void Place(const Model& model, const State& state, const BodyMotions& motions, double h);
  // Bounds the way of a body that has been placed.
  void FindWay(const Model& model, const State& state, const BodyMotions& motions, double h,
               int body, double reach_of_speed, Ways* of) const;
  template <typename F>
  void ForEachBody(const Model& model, const F& f) const;
  void FindTasks(const Model& model, double h);
  // What two bodies whose ways overlap have to be looked at for; false if nothing.
  bool MakeTask(const Model& model, double h, const Ways& of, double reach_of_speed, int a, int b,
                PairTask* task) const;
  // Whether two bodies may come to be nearer than `reach` beyond the margin, or pass each other, in
  // the course of the step.
  bool MayMeet(const Model& model, double h, const Ways& of, int a, int b, double reach) const;
  void Collide(const Model& model, const State& state, const BodyMotions& motions, double h,
               const PairTask& task, Scratch* buffers, PairContacts* contacts) const;
  // Appends the contacts of a pair with gap below the margin, and counts what is left out of them.
  void CollideAt(const Places& places, const Model& model, double h, const PairTask& task,
                 double margin, Scratch* buffers, std::vector<ContactPoint>* contacts,
                 Counts* counts) const;
  void PlaceAhead(const Model& model, const State& state, const BodyMotions& motions, int body,
                  double t);
  bool IsFoundInTime(const Model& model, double h, const PairTask& task) const;
  // Appends to `contacts`, ascending, those that a pair of bodies comes to make beside the known
  // ones.
  void LookAhead(const Model& model, const State& state, const BodyMotions& motions, double h,
                 const PairTask& task, const std::vector<ContactPoint>& known,
                 std::vector<ContactPoint>* contacts, Counts* counts);
};

ContactDetector::ContactDetector(const Model& model)
    : model_(model), workspace_(std::make_unique<Workspace>()) {
  Workspace& w = *workspace_;
  for (const Body& body : model.bodies) {
    if (!body.deformable)
      for (const Shape& shape : body.shapes) w.shapes.emplace_back(shape);
    w.shape_starts.push_back(static_cast<int>(w.shapes.size()));
    w.now.soft.push_back(body.deformable
                             ? std::make_unique<SoftSurface>(body, *model.abilities_of(body).nodes)
                             : nullptr);
    w.num_soft += body.deformable ? 1 : 0;
    w.thickness.push_back(body.deformable ? w.now.soft.back()->thickness()
                                          : CalcRigidThickness(body));
  }
  speculative_margin_ = LeastWayThrough(
      model.contact.margin, std::accumulate(w.thickness.begin(), w.thickness.end(),
                                            std::numeric_limits<double>::infinity(),
                                            [](double x, double y) { return std::min(x, y); }));
  for (Workspace::Ways* of : {&w.ways, &w.new_ways}) {
    of->moving.resize(model.bodies.size());
    of->bounds.resize(model.bodies.size());
  }
  for (std::size_t i = 0; i < model.bodies.size(); ++i)
    if (model.bodies[i].deformable && model.bodies[i].self_contact)
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
  for (const Body& body : model.bodies)
    w.is_immovable.push_back(!body.deformable && body.motion != Motion::kFree);
  for (std::size_t i = 0; i < model.bodies.size(); ++i) {
    const RigidTransform& X_WB = model.bodies[i].X_WB;
    for (int s = w.shape_starts[i]; s < w.shape_starts[i + 1]; ++s)
      w.now.shapes.emplace_back(w.shapes[s], X_WB * w.shapes[s].shape->X_BS);
  }
  w.ahead.shapes = w.now.shapes;
  w.ahead.soft.resize(model.bodies.size());
  w.ahead.positions.resize(model.bodies.size());
}

ContactDetector::~ContactDetector() = default;

void ContactDetector::Workspace::FindUnmoved(const Model& model, const State& state, double h) {
  const bool is_first = last_q.empty() || h != last_h;
  last_h = h;
  has_moved = is_first;
  was_still.resize(model.blocks.size());
  is_unmoved.resize(model.blocks.size());
  last_q.resize(state.q.size());
  for (int b = 0; b < static_cast<int>(model.blocks.size()); ++b) {
    // velocities matter: what slides keeps contacts farther off
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
  // rigid bodies are placed faster than threads are told to
  if (num_soft < kFewSoft) {
    for (int i = 0; i < count; ++i) f(i);
  } else {
    ParallelFor(count, 8, f);
  }
}

void ContactDetector::Workspace::FindWay(const Model& model, const State& state,
                                         const BodyMotions& motions, double h, int i,
                                         double reach_of_speed, Ways* of) const {
  AxisAlignedBox& way = of->bounds[i];
  way = extents[i];
  // what has no shape touches nothing: its box stays empty
  if ((way.lower.array() > way.upper.array()).any()) return;
  MotionBound& moving = of->moving[i];
  moving = BoundMotion(model, state, motions, i, extents[i]);
  // where it will be at the end of the step, too
  AxisAlignedBox later = extents[i];
  later.lower += h * moving.velocity;
  later.upper += h * moving.velocity;
  way.Include(later);
  way.Grow(0.5 * model.contact.margin +
           std::max(reach_of_speed * moving.speed(), h * moving.deviation));
}

void ContactDetector::Workspace::Place(const Model& model, const State& state,
                                       const BodyMotions& motions, double h) {
  ForEachBody(model, [&](int i) {
    const Body& body = model.bodies[i];
    if (body.block != kWorldBlock && is_unmoved[body.block]) {
      if (body.deformable) now.soft[i]->Rebind(model.Positions(state, body.block));
      return;
    }
    extents[i] = AxisAlignedBox{};
    if (body.deformable) {
      now.soft[i]->Update(model.Positions(state, body.block));
      extents[i] = now.soft[i]->bounds();
    } else {
      const bool is_still = body.block == kWorldBlock;
      const RigidTransform& X_WB = motions[i].X_WB;
      for (int s = shape_starts[i]; s < shape_starts[i + 1]; ++s) {
        if (!is_still) now.shapes[s].Move(X_WB * shapes[s].shape->X_BS);
        extents[i].Include(now.shapes[s].bounds);
      }
    }
    FindWay(model, state, motions, h, i, sliding_reach, &ways);
  });
}

bool ContactDetector::Workspace::MayMeet(const Model& model, double h, const Ways& of, int a, int b,
                                         double reach) const {
  // as b sees a
  AxisAlignedBox swept = extents[a], later = extents[a];
  const Vector3d moved = h * (of.moving[a].velocity - of.moving[b].velocity);
  later.lower += moved;
  later.upper += moved;
  swept.Include(later);
  swept.Grow(model.contact.margin +
             std::max(reach, h * (of.moving[a].deviation + of.moving[b].deviation)));
  return swept.Overlaps(extents[b]);
}

bool ContactDetector::Workspace::MakeTask(const Model& model, double h, const Ways& of,
                                          double reach_of_speed, int a, int b,
                                          PairTask* task) const {
  if (is_immovable[a] && is_immovable[b]) return false;
  const std::vector<ContactParameters::Pair>& pairs = model.contact.pairs;
  const auto end = pairs.begin() + pair_starts[a + 1];
  const auto given = std::lower_bound(pairs.begin() + pair_starts[a], end, b,
                                      [](const auto& pair, int key) { return pair.body_b < key; });
  const bool is_given = given != end && given->body_b == b;
  if (is_given && !given->enabled) return false;
  const double approach =
      a == b ? 2 * of.moving[a].deviation : BoundApproach(of.moving[a], of.moving[b]);
  const double reach = reach_of_speed * approach;
  if (a != b && !MayMeet(model, h, of, a, b, reach)) return false;
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
  overlaps = broad_phase.FindOverlaps(ways.bounds, group_starts);
  if (!selves.empty()) {
    for (int body : selves) overlaps.emplace_back(body, body);
    std::sort(overlaps.begin(), overlaps.end());
  }
  for (const auto& [a, b] : overlaps) {
    PairTask task;
    if (!MakeTask(model, h, ways, sliding_reach, a, b, &task)) continue;
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
    for (int body : {a, b}) {
      if (!now.soft[body]) continue;
      if (needed[body] == Needed::kNothing) outdated.push_back(body);
      needed[body] =
          std::max(needed[body], now.soft[a] && now.soft[b] ? Needed::kTree : Needed::kTriangles);
    }
  }

  // what the pairs share is brought up to date before they run at the same time
  const auto update = [&](int i) {
    const int body = outdated[i];
    now.soft[body]->UpdateTriangles();
    if (needed[body] == Needed::kTree) now.soft[body]->UpdateTree();
  };
  const int count = static_cast<int>(outdated.size());
  if (count < 2) {
    for (int i = 0; i < count; ++i) update(i);
  } else {
    ParallelFor(count, 1, update);
  }
}

bool ContactDetector::Workspace::IsHeld(int holder, const Attachment& soft) const {
  if (held.empty() || soft.num_nodes == 0) return false;
  for (int k = 0; k < soft.num_nodes; ++k) {
    const HeldNode node{holder, soft.block, soft.nodes[k]};
    if (soft.weights[k] > 0 && !std::binary_search(held.begin(), held.end(), node)) return false;
  }
  return true;
}

void ContactDetector::Workspace::CollideAt(const Places& places, const Model& model, double h,
                                           const PairTask& task, double margin, Scratch* buffers,
                                           std::vector<ContactPoint>* contacts,
                                           Counts* counts) const {
  const int a = task.body_a, b = task.body_b;
  const std::vector<PlacedShape>& placed = places.shapes;
  const SoftSurface *soft_a = places.soft[a].get(), *soft_b = places.soft[b].get();
  const Body* bodies[2] = {&model.bodies[a], &model.bodies[b]};

  const auto emit = [&](int shape_a, int shape_b) {
    const Shape* given_a = shape_a >= 0 ? shapes[shape_a].shape : nullptr;
    const Shape* given_b = shape_b >= 0 ? shapes[shape_b].shape : nullptr;
    double friction =
        CombineFriction(given_a ? given_a->friction : -1, given_b ? given_b->friction : -1);
    double stiffness =
        CombineStiffness(given_a ? given_a->stiffness : -1, given_b ? given_b->stiffness : -1);
    if (task.pair && task.pair->friction >= 0) friction = task.pair->friction;
    if (task.pair && task.pair->stiffness >= 0) stiffness = task.pair->stiffness;
    if (friction < 0) friction = model.contact.friction;
    if (stiffness < 0) stiffness = model.contact.stiffness;

    const auto attach = [&](int which, const Touch& touch) {
      const Touch::Side& side = which == 0 ? touch.a : touch.b;
      Attachment attachment;
      attachment.block = bodies[which]->block;
      attachment.frame = bodies[which]->deformable ? 0 : bodies[which]->frame;
      attachment.num_nodes = side.num_nodes;
      attachment.nodes = side.nodes;
      attachment.weights = side.weights;
      attachment.p_W = touch.p_W;
      return attachment;
    };
    const std::uint64_t local_a = shape_a >= 0 ? shape_a - shape_starts[a] : 0;
    const std::uint64_t local_b = shape_b >= 0 ? shape_b - shape_starts[b] : 0;
    for (const Touch& touch : buffers->touches) {
      if (!touch.nhat_AB_W.allFinite() || !touch.p_W.allFinite() || !std::isfinite(touch.gap)) {
        ++counts->nonfinite;
        continue;
      }
      // where a surface has collapsed there is no direction to separate along
      if (!(touch.nhat_AB_W.squaredNorm() > 0.5)) {
        ++counts->collapsed;
        continue;
      }
      ContactPoint point;
      point.a = attach(0, touch);
      point.b = attach(1, touch);
      if (IsHeld(a, point.b) || IsHeld(b, point.a)) continue;
      point.body_a = a;
      point.body_b = b;
      point.p_W = touch.p_W;
      point.R_WC = FrameFromNormal(touch.nhat_AB_W);
      // read by no other method
      if (model.method.kind == MethodKind::kCorrective) {
        DescribeMotion(shape_a >= 0 ? &placed[shape_a] : nullptr,
                       shape_b >= 0 ? &placed[shape_b] : nullptr, &point);
      }
      point.gap = touch.gap;
      point.area = touch.area;
      point.stiffness = stiffness;
      point.relaxation_time = model.contact.relaxation_time < 0 ? h : model.contact.relaxation_time;
      point.friction = friction;
      point.key = MixKey({static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b), local_a,
                          local_b, touch.feature});
      contacts->push_back(point);
    }
    buffers->touches.clear();
  };
  const auto are_near = [&](const AxisAlignedBox& box_a, const AxisAlignedBox& box_b) {
    AxisAlignedBox grown = box_a;
    grown.Grow(margin);
    return grown.Overlaps(box_b);
  };

  buffers->touches.clear();
  const bool by_polygons = model.contact.patches == ContactParameters::Patches::kPolygons;
  // of the model's margin: `margin` reaches further the faster a pair nears, and no polygon shall
  // hang on that
  const PolygonOptions polygons{kPolygonDepth * model.contact.margin,
                                model.contact.patch_divisions};
  if (a == b) {
    CollideWithSelf(*soft_a, margin, &buffers->narrow, &buffers->touches);
    emit(-1, -1);
  } else if (soft_a && soft_b) {
    if (by_polygons) {
      CollideSoftSoftPatches(*soft_a, *soft_b, margin, polygons, &buffers->narrow,
                             &buffers->touches);
    } else {
      CollideSoftSoft(*soft_a, *soft_b, margin, &buffers->narrow, &buffers->touches);
    }
    emit(-1, -1);
  } else if (soft_a || soft_b) {
    const bool rigid_is_a = soft_b != nullptr;
    const int rigid = rigid_is_a ? a : b;
    const SoftSurface& surface = rigid_is_a ? *soft_b : *soft_a;
    const bool is_immovable = model.bodies[rigid].motion != Motion::kFree;
    for (int s = shape_starts[rigid]; s < shape_starts[rigid + 1]; ++s) {
      if (!are_near(surface.bounds(), placed[s].bounds)) continue;
      if (by_polygons) {
        CollideSoftRigidPatches(surface, placed[s], rigid_is_a, is_immovable, margin, polygons,
                                &buffers->narrow, &buffers->touches);
      } else {
        CollideSoftRigid(surface, placed[s], rigid_is_a, is_immovable, margin, &buffers->narrow,
                         &buffers->touches);
      }
      emit(rigid_is_a ? s : -1, rigid_is_a ? -1 : s);
    }
  } else {
    for (int s = shape_starts[a]; s < shape_starts[a + 1]; ++s) {
      for (int t = shape_starts[b]; t < shape_starts[b + 1]; ++t) {
        if (!are_near(placed[s].bounds, placed[t].bounds)) continue;
        CollideRigidRigid(placed[s], placed[t], margin, &buffers->narrow, &buffers->touches);
        emit(s, t);
      }
    }
  }
  counts->manifold_points_dropped += buffers->narrow.TakePointsDropped();
}

void ContactDetector::Workspace::Collide(const Model& model, const State& state,
                                         const BodyMotions& motions, double h, const PairTask& task,
                                         Scratch* buffers, PairContacts* contacts) const {
  contacts->points.clear();
  contacts->counts = {};
  const double margin = model.contact.margin + task.reach;
  CollideAt(now, model, h, task, margin, buffers, &contacts->points, &contacts->counts);

  // beyond the margin only what already carried an impulse stays, as far as its sliding holds it
  // off
  std::erase_if(contacts->points, [&](const ContactPoint& point) {
    if (point.gap < model.contact.margin) return false;
    if (FindContactMemory(state.contacts, point.key) == nullptr) return true;
    const double gliding_gap = (h + point.relaxation_time) *
                               std::min(point.friction, kMostGlidingFriction) *
                               CalcSlidingSpeed(model, state, motions, point);
    return point.gap > model.contact.margin + gliding_gap;
  });

  SortContacts(&contacts->points);
}

void ContactDetector::Workspace::PlaceAhead(const Model& model, const State& state,
                                            const BodyMotions& motions, int body, double t) {
  if (!now.soft[body]) {
    const RigidTransform X_WB = Advance(motions[body], t);
    for (int s = shape_starts[body]; s < shape_starts[body + 1]; ++s)
      ahead.shapes[s].Move(X_WB * shapes[s].shape->X_BS);
    return;
  }
  const Body& soft = model.bodies[body];
  if (!ahead.soft[body])
    ahead.soft[body] = std::make_unique<SoftSurface>(soft, *model.abilities_of(soft).nodes);
  const std::span<const double> q = model.Positions(state, soft.block),
                                v = model.Velocities(state, soft.block);
  std::vector<double>& moved = ahead.positions[body];
  moved.assign(q.begin(), q.end());
  for (std::size_t i = 0; i < v.size(); ++i) moved[i] += t * v[i];
  ahead.soft[body]->Update(moved);
}

bool ContactDetector::Workspace::IsFoundInTime(const Model& model, double h,
                                               const PairTask& task) const {
  return physics::IsFoundInTime(h * task.approach, model.contact.margin,
                                std::min(thickness[task.body_a], thickness[task.body_b]));
}

void ContactDetector::Workspace::LookAhead(const Model& model, const State& state,
                                           const BodyMotions& motions, double h,
                                           const PairTask& task,
                                           const std::vector<ContactPoint>& known,
                                           std::vector<ContactPoint>* contacts, Counts* counts) {
  const int a = task.body_a, b = task.body_b;
  Scratch* buffers = &scratch.local();
  const auto collide = [&](double t, double margin, std::vector<ContactPoint>* met) {
    PlaceAhead(model, state, motions, a, t);
    if (b != a) PlaceAhead(model, state, motions, b, t);
    for (int body : {a, b}) {
      if (!now.soft[body]) continue;
      ahead.soft[body]->UpdateTriangles();
      if (now.soft[a] && now.soft[b]) ahead.soft[body]->UpdateTree();
    }
    // what a manifold leaves out of what it finds ahead is not missed
    Counts at_this_time;
    CollideAt(ahead, model, h, task, margin, buffers, met, &at_this_time);
    counts->nonfinite += at_this_time.nonfinite;
    SortContacts(met);
  };
  const double thinner = std::min(thickness[a], thickness[b]);
  buffers->appended.clear();
  counts->speculative_dropped += AppendContactsAhead(
      model, state, motions, h, {task.approach, thinner, model.contact.margin, std::ref(collide)},
      known, &buffers->ahead, &buffers->appended);
  SortContacts(&buffers->appended);
  contacts->insert(contacts->end(), buffers->appended.begin(), buffers->appended.end());
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
  // a convex step holds what slides off by up to this (its gliding gap); without contacts that
  // persist, none can be lost at it
  w.sliding_reach = state.contacts.empty() ? 0
                                           : (h + relaxation_time) *
                                                 std::min(w.largest_friction, kMostGlidingFriction);
  w.Place(model_, state, motions, h);
  w.FindTasks(model_, h);

  // every pair writes its own list; the lists follow in the order of the pairs, whoever filled them
  const auto collide = [&](int i) {
    if (w.is_known[i]) return;
    w.Collide(model_, state, motions, h, w.tasks[i], &w.scratch.local(), &w.found[i]);
  };
  const int count = static_cast<int>(w.tasks.size());
  if (w.tasks.size() < kFewPairs) {
    for (int i = 0; i < count; ++i) collide(i);
  } else {
    ParallelFor(count, 8, collide);
  }
  for (std::size_t i = 0; i < w.tasks.size(); ++i) {
    if (w.is_known[i] || w.IsFoundInTime(model_, h, w.tasks[i])) continue;
    std::vector<ContactPoint>& points = w.found[i].points;
    w.LookAhead(model_, state, motions, h, w.tasks[i], points, &points, &w.found[i].counts);
    SortContacts(&points);
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
  // what touches is known already, and nothing slides further off
  constexpr double kNoReach = 0;
  w.ForEachBody(model_,
                [&](int i) { w.FindWay(model_, state, motions, h, i, kNoReach, &w.new_ways); });
  w.overlaps = w.broad_phase.FindOverlapsOf(changed, w.new_ways.bounds, w.group_starts);
  for (const int body : w.selves)
    if (changed[body]) w.overlaps.emplace_back(body, body);
  std::sort(w.overlaps.begin(), w.overlaps.end());
  for (const auto& [a, b] : w.overlaps) {
    Workspace::PairTask task;
    if (!w.MakeTask(model_, h, w.new_ways, kNoReach, a, b, &task) ||
        w.IsFoundInTime(model_, h, task))
      continue;
    // pairs ascend
    const auto before = std::lower_bound(
        w.tasks.begin(), w.tasks.end(), std::pair(a, b),
        [](const auto& x, const auto& pair) { return std::pair(x.body_a, x.body_b) < pair; });
    const bool was_task = before != w.tasks.end() && before->body_a == a && before->body_b == b;
    Counts counts;
    w.LookAhead(model_, state, motions, h, task,
                was_task ? w.found[before - w.tasks.begin()].points : w.nothing, contacts, &counts);
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
