// Contact filters of joined bodies and of robots: neighbours in a tree, the filters of their files,
// and the friction of their soft bodies.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "physics/scene/compiler.h"
#include "physics/scene/robot_files/robot_description.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

constexpr std::size_t kMaxFiltered = 2'000'000;  // pairs of bodies

// Contact type and affinity of a shape, as bits.
using ContactMask = std::pair<int, int>;

bool MayTouch(const ContactMask& a, const ContactMask& b) {
  return (a.first & b.second) != 0 || (b.first & a.second) != 0;
}

// Disables contact between two bodies of a model whose pairs are sorted.
void DisableContact(const std::pair<int, int>& bodies, Model* model) {
  std::vector<ContactParameters::Pair>& pairs = model->contact.pairs;
  const auto [a, b] = bodies;
  const auto place = std::ranges::lower_bound(
      pairs, bodies, {}, [](const auto& p) { return std::pair(p.body_a, p.body_b); });
  if (place == pairs.end() || place->body_a != a || place->body_b != b) {
    pairs.insert(place, {.body_a = a, .body_b = b, .enabled = false});
  } else {
    place->enabled = false;
  }
}

}  // namespace

// Disables contact between adjacent links of the tree, which overlap at their joint. Links without
// collision shapes between two others (a shoulder's inner axes) do not separate them.
void SceneCompiler::FilterRobotContacts(const RobotPlacement& placement,
                                        const RobotDescription& description) {
  const v1::Robot& given = scene_.robots(placement.draft);
  const std::vector<int>& bodies = model_->robots.back().bodies;
  const int count = static_cast<int>(description.links.size());
  const auto disable = [&](int a, int b) {
    if (a != b) robot_filters_.emplace_back(std::minmax(bodies[a], bodies[b]));
  };
  // links fixed to each other count as one: `root` is the first of them
  std::vector<int> root(count);
  std::vector<char> has_shapes(count, 0);
  std::vector<std::vector<int>> cluster(count);
  for (int i = 0; i < count; ++i) {
    const RobotLink& link = description.links[i];
    root[i] = link.parent >= 0 && link.joint.type == JointType::kFixed ? root[link.parent] : i;
    if (link.collisions.empty()) continue;
    has_shapes[root[i]] = 1;
    cluster[root[i]].push_back(i);
  }
  for (int r = 0; r < count; ++r) {
    if (root[r] != r) continue;
    for (const int a : cluster[r]) {
      for (const int b : cluster[r]) {
        if (a < b) disable(a, b);
      }
    }
    int parent = description.links[r].parent < 0 ? -1 : root[description.links[r].parent];
    while (parent >= 0 && !has_shapes[parent])
      parent = description.links[parent].parent < 0 ? -1 : root[description.links[parent].parent];
    if (parent < 0) continue;
    for (const int a : cluster[r]) {
      for (const int b : cluster[parent]) disable(a, b);
    }
  }
  for (const auto& [a, b] : description.excluded_contacts) {
    if (a >= 0 && b >= 0) disable(a, b);
  }
  // all pairs only if the scene asks for it, as chains may be long
  if (!given.has_self_collision() || given.self_collision()) return;
  for (int a = 0; a < count; ++a) {
    for (int b = a + 1; b < count; ++b) {
      if (!description.links[a].collisions.empty() && !description.links[b].collisions.empty())
        disable(a, b);
    }
  }
}

void SceneCompiler::SeparateJoinedBodies(std::map<std::pair<int, int>, double>* depths) {
  for (const Constraint& constraint : model_->constraints) {
    const bool joins = constraint.kind == Constraint::Kind::kWeld ||
                       (constraint.kind == Constraint::Kind::kBall && constraint.node_b < 0);
    if (!joins) continue;
    const std::pair<int, int> pair = std::minmax(constraint.body_a, constraint.body_b);
    if (pair.first < 0 || enabled_pairs_.contains(pair) || depths->erase(pair) == 0) continue;
    DisableContact(pair, model_.get());
  }
}

void SceneCompiler::SeparateLinks(std::map<std::pair<int, int>, double>* depths) {
  std::set<int> warned;  // robots of the scene
  // soft bodies that are driven come after these in the model's robots
  for (std::size_t r = 0; r < robot_placements_.size(); ++r) {
    const RobotPlacement& placement = robot_placements_[r];
    if (scene_.robots(placement.draft).has_self_collision()) continue;
    const std::vector<RobotLink>& links = robots_[placement.draft].description->links;
    std::map<int, int> root_of;  // first link of the tree that each body is in
    std::vector<int> root(links.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
      root[i] = links[i].parent < 0 ? static_cast<int>(i) : root[links[i].parent];
      root_of[model_->robots[r].bodies[i]] = root[i];
    }
    std::vector<std::pair<int, int>> separated;
    std::pair<int, int> worst;
    double deepest = 0;
    for (const auto& [pair, depth] : *depths) {
      const auto a = root_of.find(pair.first), b = root_of.find(pair.second);
      if (a == root_of.end() || b == root_of.end() || a->second != b->second ||
          !(depth > model_->contact.margin) || enabled_pairs_.contains(pair))
        continue;
      separated.push_back(pair);
      if (depth > deepest) {
        deepest = depth;
        worst = pair;
      }
    }
    if (separated.empty()) continue;
    for (const auto& pair : separated) {
      depths->erase(pair);
      DisableContact(pair, model_.get());
    }
    if (!warned.insert(placement.draft).second) continue;
    log_.Warning(
        absl::StrCat("robots[", placement.draft, "]"),
        absl::StrCat(Quoted(model_->bodies[worst.second].name), " starts ",
                     NumberText(std::round(1e4 * deepest) / 10), " mm inside ",
                     Quoted(model_->bodies[worst.first].name),
                     separated.size() == 1 ? ""
                                           : absl::StrCat(", and ", separated.size() - 1,
                                                          " other pairs of its links likewise"),
                     "; they do not touch each other. Enable contact in `pairs`, or by "
                     "self_collision: true"));
  }
}

// Applies the contact types and affinities of robot files: two bodies touch if any of their shapes
// do. Bodies without them, and the scene's own bodies, have 1 and 1.
void SceneCompiler::FilterByContactMasks() {
  const std::vector<ContactMask> usual = {{1, 1}};
  std::vector<std::vector<ContactMask>> masks(model_->bodies.size(), usual);
  std::vector<int> draft_of(model_->bodies.size(), -1);  // robot whose file has the body
  for (std::size_t r = 0; r < model_->robots.size(); ++r) {
    const int draft = robot_placements_[r].draft;
    const RobotDescription& description = *robots_[draft].description;
    for (std::size_t i = 0; i < description.links.size(); ++i) {
      const int body = model_->robots[r].bodies[i];
      std::vector<ContactMask>& own = masks[body];
      draft_of[body] = draft;
      if (description.links[i].collisions.empty()) continue;
      own.clear();
      for (const RobotShape& shape : description.links[i].collisions)
        own.emplace_back(shape.contact_type, shape.contact_affinity);
      std::sort(own.begin(), own.end());
      own.erase(std::unique(own.begin(), own.end()), own.end());
    }
  }
  for (const RobotSoftBody& soft : robot_deformables_) {
    const RobotDeformable& given = robots_[soft.robot].description->deformables[soft.number];
    masks[soft.body] = {{given.contact_type, given.contact_affinity}};
  }

  // group bodies by mask, as there are few different masks
  std::map<std::vector<ContactMask>, std::vector<int>> classes;
  for (std::size_t b = 0; b < masks.size(); ++b) classes[masks[b]].push_back(static_cast<int>(b));
  if (classes.size() == 1 && classes.contains(usual)) return;
  std::size_t filtered = 0;
  for (const auto& [mask, members] : classes) {
    bool is_mixed = false;  // touches something with only some of its shapes
    for (const auto& [other_mask, others] : classes) {
      bool any = false, all = true;
      for (const ContactMask& s : mask) {
        for (const ContactMask& t : other_mask) {
          any |= MayTouch(s, t);
          all &= MayTouch(s, t);
        }
      }
      is_mixed |= any && !all;
      if (any || other_mask < mask) continue;
      filtered += members.size() * others.size();
      if (filtered > kMaxFiltered) {
        log_.Error("robots", absl::StrCat("their files would exclude ", filtered,
                                          " pairs of bodies by contact masks; expected at most ",
                                          kMaxFiltered));
        return;
      }
      for (const int a : members) {
        for (const int b : others) {
          if (a != b) robot_filters_.emplace_back(std::minmax(a, b));
        }
      }
    }
    if (!is_mixed || mask.size() == 1) continue;
    for (const int body : members) {
      log_.Warning(
          absl::StrCat("robots[", draft_of[body], "].file"),
          absl::StrCat("the shapes of ", Quoted(model_->bodies[body].name),
                       " have different contact masks, but contact is enabled per body: all of "
                       "them touch whatever one of them does. Split the link to separate them"));
    }
  }
}

// Applies the friction that a robot's file gives to a soft body, in all pairs with other bodies.
void SceneCompiler::SetDeformableFriction() {
  const auto friction_of = [&](int body) {
    for (const RobotSoftBody& soft : robot_deformables_) {
      if (soft.body == body)
        return robots_[soft.robot].description->deformables[soft.number].friction;
    }
    const std::vector<Shape>& shapes = model_->bodies[body].shapes;
    return shapes.empty() ? -1 : shapes[0].friction;
  };
  for (const RobotSoftBody& soft : robot_deformables_) {
    const double own = friction_of(soft.body);
    if (own < 0) continue;
    for (int b = 0; b < static_cast<int>(model_->bodies.size()); ++b) {
      if (b == soft.body) continue;
      const double other = friction_of(b);
      // two values are averaged, as those of shapes are
      robot_frictions_[std::minmax(soft.body, b)] = other < 0 ? own : 0.5 * (own + other);
    }
  }
}

}  // namespace pliant::physics
