// Contacts of one pair of bodies: present ones, and those that form within the step.

#include <algorithm>
#include <cmath>
#include <functional>

#include "physics/contact/detection_workspace.h"
#include "physics/contact/pairs/contact_key.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A contact polygon lies within this part of the margin of its deepest point.
constexpr double kPolygonDepth = 0.1;

// Cosine of the angle within which a contact's normal is that of a face.
constexpr double kAlongFaceNormal = 1 - 1e-6;

// Combine the values of two shapes: the mean of frictions and of restitutions, stiffnesses in
// series. A negative value is unset, and the other one applies.
double CombineMean(double a, double b) {
  return a < 0 ? b : b < 0 ? a : 0.5 * (a + b);
}
double CombineStiffness(double a, double b) {
  if (a < 0 || b < 0) return std::max(a, b);
  if (std::isinf(a) || std::isinf(b)) return std::min(a, b);
  return a + b > 0 ? a * b / (a + b) : 0;
}

}  // namespace

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
  settings.is_smooth = model.contact.patches == ContactParameters::Patches::kSmooth;
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
  const auto attach = [](const Body& body, const Vector3d& p_W, const Vector3d& to_surface,
                         bool is_open, NodeWeights* nodes, Attachment* attachment) {
    attachment->block = body.block;
    attachment->p_W = p_W;
    if (is_open || !nodes->empty()) attachment->p_W += to_surface;
    if (nodes->empty()) {
      attachment->frame = body.frame;
    } else {
      attachment->nodes = std::move(*nodes);
    }
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
    // a sliver is a contact only while it bears a load
    if (touch.is_sliver && FindContactMemory(state.contacts, key) == nullptr) continue;
    // constructed in place: a contact is large
    ContactPoint& point = contacts->emplace_back();
    // Features with a positive gap touch later in the step, or slide at a gap: the impulse acts on
    // the surface of each body. Bodies that overlap touch midway.
    const bool is_open = &places != &now || touch.gap > 0;
    const Vector3d half = 0.5 * touch.gap * touch.nhat_AB_W;
    attach(body_a, touch.p_W, -half, is_open, &touch.a, &point.a);
    attach(body_b, touch.p_W, half, is_open, &touch.b, &point.b);
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
        CombineMean(shape_a ? shape_a->friction : -1, shape_b ? shape_b->friction : -1);
    double restitution =
        CombineMean(shape_a ? shape_a->restitution : -1, shape_b ? shape_b->restitution : -1);
    double stiffness =
        CombineStiffness(shape_a ? shape_a->stiffness : -1, shape_b ? shape_b->stiffness : -1);
    if (task.pair && task.pair->friction >= 0) friction = task.pair->friction;
    if (task.pair && task.pair->stiffness >= 0) stiffness = task.pair->stiffness;
    if (task.pair && task.pair->restitution >= 0) restitution = task.pair->restitution;
    if (task.pair) {
      point.static_friction = task.pair->static_friction;
      point.stribeck_speed = task.pair->stribeck_speed;
      point.viscous_friction = task.pair->viscous_friction;
    }
    point.restitution = restitution < 0 ? model.contact.restitution : restitution;
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
  const Search search = FindSearch(model, swept, h, task);
  const double known = model.contact.margin + task.reach;
  // the present features of deforming or non-convex bodies do not predict which ones will meet
  const bool is_at_times = search == Search::kAtTimes && !AreConvex(task);
  contacts->reach = model.contact.margin;
  if (search != Search::kMargin && !is_at_times) contacts->reach += h * task.approach;
  CollideAt(now, model, state, h, task, std::max(contacts->reach, known), buffers,
            &contacts->points, &contacts->counts);
  contacts->is_at_times =
      is_at_times || (search == Search::kAtTimes && MayClose(model, swept, h, contacts->points));
  if (contacts->is_at_times && !is_at_times) {
    contacts->reach = model.contact.margin;
    std::erase_if(contacts->points, [&](const ContactPoint& point) { return point.gap >= known; });
  }
  SelectClosing(model, state, motions, h, model.contact.margin, contacts);
  SortContacts(&contacts->points);
}

bool ContactDetector::Workspace::AreConvex(const PairTask& task) const {
  return task.body_a != task.body_b && has_convex_shapes[task.body_a] &&
         has_convex_shapes[task.body_b];
}

bool ContactDetector::Workspace::MayClose(const Model& model, const SweptBounds& bounds, double h,
                                          const std::vector<ContactPoint>& points) const {
  return std::ranges::any_of(points, [&](const ContactPoint& point) {
    const Vector3d n = point.R_WC.col(2);
    const double speed =
        BoundApproachAlong(n, bounds.motions[point.body_a], bounds.motions[point.body_b]);
    // gravity accelerates during the step
    return !(point.gap - h * speed > h * h * std::abs(n.dot(model.gravity)));
  });
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
      const double reach = sliding_time * std::min(point.friction, kMaxSlidingFriction) *
                           std::sqrt((v_AB - rate * n).squaredNorm());
      if (point.gap < margin + reach) return false;
    }
    // relaxation would slow the bodies down before they meet, and so reduce their rebound
    if (point.restitution > 0) point.relaxation_time = 0;
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
  // created on demand: most bodies never need a surface or points ahead
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

void ContactDetector::Workspace::UpdateSurfaces(const PairTask& task, Places* places) const {
  const int a = task.body_a, b = task.body_b;
  for (const int body : {a, b}) {
    const Needed of_pair = FindNeeded(kinds[body], kinds[body == a ? b : a]);
    if (of_pair == Needed::kTriangles) places->surfaces[body]->UpdateTriangles();
    if (of_pair == Needed::kTree) places->surfaces[body]->UpdateTree();
  }
}

ContactDetector::Workspace::Search ContactDetector::Workspace::FindSearch(
    const Model& model, const SweptBounds& bounds, double h, const PairTask& task) const {
  const int a = task.body_a, b = task.body_b;
  const double travel = h * task.approach, safe = CalcSafeTravel(model.contact.margin);
  if (travel <= safe) return Search::kMargin;
  // bodies that turn may meet with other features, or elsewhere, than where they are nearest now
  const auto turn_of = [&](int body) {
    return is_ball[body] ? 0 : h * bounds.motions[body].deviation;
  };
  const bool may_turn_into = AreConvex(task) && turn_of(a) + turn_of(b) > safe;
  return travel <= CalcSafeDepth(std::min(thickness[a], thickness[b])) && !may_turn_into
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
  UpdateSurfaces(task, &ahead);
  // points dropped from manifolds ahead are not counted
  Counts at_this_time;
  CollideAt(ahead, model, state, h, task, margin, buffers, met, &at_this_time);
  counts->nonfinite += at_this_time.nonfinite;
  SortContacts(met);
}

void ContactDetector::Workspace::FindSpeculative(
    const Model& model, const State& state, const BodyMotions& motions, double h,
    const SweptBounds& bounds, const PairTask& task, bool is_at_times,
    const std::vector<ContactPoint>& known, std::vector<std::uint64_t>* doubtful,
    std::vector<ContactPoint>* contacts, Counts* counts) {
  const int a = task.body_a, b = task.body_b;
  Scratch* buffers = &scratch.local();
  const auto collide = [&](double t, double margin, std::vector<ContactPoint>* met) {
    CollideLater(model, state, motions, h, task, t, margin, buffers, met, counts);
  };
  const double thinner = std::min(thickness[a], thickness[b]);
  // a soft body yields if a contact is found late; a rigid one would catch on features that it
  // passes
  const bool deforms = kinds[a] != GeometryKind::kShapes || kinds[b] != GeometryKind::kShapes;
  const double spacing = deforms ? 0.5 * CalcSafeDepth(thinner) : 0;
  buffers->appended.clear();
  counts->speculative_dropped += AppendSpeculativeContacts(
      model, state, motions, h,
      {bounds.motions[a], bounds.motions[b], AreConvex(task), task.approach, thinner,
       model.contact.margin, !is_at_times, spacing, std::ref(collide)},
      known, &buffers->speculation, &buffers->appended, doubtful);
  // contacts that are still doubtful do not form: their features pass each other
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
  const Search search = FindSearch(model, new_swept, h, task);
  if (search == Search::kMargin) return;
  PairContacts& found_ahead = changed;
  found_ahead.points.clear();
  found_ahead.apart.clear();
  found_ahead.doubtful.clear();
  const double travel = h * task.approach;
  found_ahead.is_at_times = search == Search::kAtTimes;
  if (search == Search::kAhead || AreConvex(task)) {
    if (last != nullptr && travel <= last->reach) {
      // all features that may close are known
      found_ahead.reach = last->reach;
      found_ahead.points = last->apart;
    } else {
      found_ahead.reach = model.contact.margin + travel;
      UpdateSurfaces(task, &now);
      CollideAt(now, model, state, h, task, found_ahead.reach, &scratch.local(),
                &found_ahead.points, counts);
      SortContacts(&found_ahead.points);
    }
    found_ahead.is_at_times = search == Search::kAtTimes &&
                              (MayClose(model, new_swept, h, found_ahead.points) ||
                               (last != nullptr && MayClose(model, new_swept, h, last->points)));
  }
  if (found_ahead.is_at_times) {
    FindSpeculative(model, state, motions, h, new_swept, task, true,
                    last != nullptr ? last->points : nothing, &found_ahead.doubtful, contacts,
                    counts);
    return;
  }
  SelectClosing(model, state, motions, h, 0, &found_ahead);
  if (!found_ahead.doubtful.empty())
    FindSpeculative(model, state, motions, h, new_swept, task, false, found_ahead.points,
                    &found_ahead.doubtful, &found_ahead.points, counts);
  contacts->insert(contacts->end(), found_ahead.points.begin(), found_ahead.points.end());
}

}  // namespace pliant::physics
