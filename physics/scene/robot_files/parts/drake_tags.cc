#include "physics/scene/robot_files/parts/drake_tags.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

constexpr std::size_t kMaxExcludedPairs = 1'000'000;

XmlValue AttributeOrText(const XmlElement& element, std::string_view name) {
  if (element.Find(name) != nullptr) return AttributeOf(element, name);
  return TextOfChild(element, name);
}

// Name in an attribute of an element, or in its text.
std::string NameOf(const XmlElement& element, std::string_view attribute) {
  const std::string* name = element.Find(attribute);
  return name == nullptr ? element.text : *name;
}

}  // namespace

XmlValue DrakeValue(const XmlElement& parent, std::string_view tag) {
  const XmlElement* child = parent.Child(tag);
  if (child == nullptr) return {};
  return child->Find("value") != nullptr ? AttributeOf(*child, "value") : TextOf(*child);
}

void ReadProximity(const XmlElement& collision, std::vector<RobotShape>* shapes, RobotLog* log) {
  const XmlElement* properties = collision.Child("drake:proximity_properties");
  if (properties == nullptr) return;
  double friction = -1, stiffness = -1, modulus = -1;
  const double given_static = [&] {
    double mu = -1;
    ReadNumber(DrakeValue(*properties, "drake:mu_static"), &mu, log, Range::kNotNegative);
    return mu;
  }();
  if (!ReadNumber(DrakeValue(*properties, "drake:mu_dynamic"), &friction, log,
                  Range::kNotNegative)) {
    friction = given_static;
  } else if (given_static >= 0 && given_static != friction) {
    log->WarnOnce(properties->place,
                  "<drake:mu_static> differs from <drake:mu_dynamic>; the dynamic one is taken");
  }
  ReadNumber(DrakeValue(*properties, "drake:point_contact_stiffness"), &stiffness, log,
             Range::kPositive);
  ReadNumber(DrakeValue(*properties, "drake:hydroelastic_modulus"), &modulus, log,
             Range::kPositive);
  const bool compliant = properties->Child("drake:compliant_hydroelastic") != nullptr;
  for (const XmlElement& child : properties->children) {
    if (child.name == "drake:hunt_crossley_dissipation" || child.name == "drake:relaxation_time" ||
        child.name == "drake:hydroelastic_margin") {
      log->LeftOut(child.place, absl::StrCat("<", child.name, ">"),
                   "dissipation and margin are the scene's (contact.relaxation_time, "
                   "contact.margin)");
    }
  }
  for (RobotShape& shape : *shapes) {
    if (friction >= 0) shape.shape.friction = friction;
    if (stiffness > 0) shape.shape.stiffness = stiffness;
    if (stiffness > 0 || !compliant || !(modulus > 0) ||
        std::holds_alternative<HalfSpace>(shape.shape.geometry)) {
      continue;
    }
    const AxisAlignedBox box = CalcBounds(shape.shape.geometry, RigidTransform());
    shape.shape.stiffness = modulus * (0.5 * (box.upper - box.lower)).minCoeff();
  }
}

void ReadDeformableProperties(const XmlElement& properties, RobotDeformable* body, RobotLog* log) {
  ReadNumber(DrakeValue(properties, "drake:youngs_modulus"), &body->youngs_modulus, log,
             Range::kPositive);
  const XmlValue ratio = DrakeValue(properties, "drake:poissons_ratio");
  if (ReadNumber(ratio, &body->poissons_ratio, log) &&
      !(body->poissons_ratio > -1 && body->poissons_ratio < 0.5)) {
    log->Error(ratio.owner->place, absl::StrCat(ratio.Name(), ": ", body->poissons_ratio,
                                                " is not allowed; expected a number in (-1, 0.5)"));
  }
  ReadNumber(DrakeValue(properties, "drake:mass_density"), &body->density, log, Range::kPositive);
  // no damping unless it is given
  body->damping_alpha = body->damping_beta = 0;
  ReadNumber(DrakeValue(properties, "drake:mass_damping"), &body->damping_alpha, log,
             Range::kNotNegative);
  ReadNumber(DrakeValue(properties, "drake:stiffness_damping"), &body->damping_beta, log,
             Range::kNotNegative);
  const XmlValue model = DrakeValue(properties, "drake:material_model");
  if (model.text != nullptr) {
    if (*model.text == "linear" || *model.text == "corotated" ||
        *model.text == "linear_corotated" || *model.text == "neohookean") {
      body->material_model = *model.text;
    } else {
      log->Error(model.owner->place,
                 absl::StrCat(model.Name(), ": \"", *model.text,
                              "\" is unknown; expected linear, corotated, linear_corotated or "
                              "neohookean"));
    }
  }
}

bool ReadDrakeGeometry(const XmlElement& geometry, Geometry* out, RobotLog* log) {
  if (const XmlElement* ellipsoid = geometry.Child("drake:ellipsoid")) {
    Eigen::Vector3d radii = Eigen::Vector3d::Ones();
    const char* names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; ++i) {
      const XmlValue value = AttributeOrText(*ellipsoid, names[i]);
      if (value.text == nullptr) {
        log->Error(ellipsoid->place, absl::StrCat("<drake:ellipsoid>: ", names[i],
                                                  " is missing; expected a half axis in metres"));
      }
      ReadNumber(value, &radii[i], log, Range::kSizeOrZero);
    }
    *out = Ellipsoid{radii};
    return true;
  }
  const XmlElement* capsule = geometry.Child("drake:capsule");
  if (capsule == nullptr) capsule = geometry.Child("capsule");
  if (capsule == nullptr) return false;
  Capsule shape{1, 1};
  const std::pair<const char*, double*> parts[] = {{"radius", &shape.radius},
                                                   {"length", &shape.length}};
  for (const auto& [name, number] : parts) {
    const XmlValue value = AttributeOrText(*capsule, name);
    if (value.text == nullptr) {
      log->Error(capsule->place, absl::StrCat("<", capsule->name, ">: ", name,
                                              " is missing; expected a length in metres"));
    }
    ReadNumber(value, number, log, Range::kSizeOrZero);
  }
  if (shape.length > 0) {
    *out = shape;
  } else {
    *out = Sphere{shape.radius};
  }
  return true;
}

bool ReadDrakeActuation(const XmlElement& parent, Joint* joint, RobotActuator* gains,
                        RobotLog* log) {
  ReadNumber(DrakeValue(parent, "drake:rotor_inertia"), &joint->rotor_inertia, log,
             Range::kNotNegative);
  ReadNumber(DrakeValue(parent, "drake:gear_ratio"), &joint->gear_ratio, log, Range::kNotNegative);
  const XmlElement* controller = parent.Child("drake:controller_gains");
  if (controller == nullptr) return false;
  gains->kind = RobotActuator::Kind::kPosition;
  ReadNumber(AttributeOf(*controller, "p"), &gains->stiffness, log, Range::kNotNegative);
  ReadNumber(AttributeOf(*controller, "d"), &gains->damping, log, Range::kNotNegative);
  return true;
}

bool DrakeModelTags::Take(const XmlElement& element, const FindLink& find_link, RobotDraft* draft,
                          RobotLog* log) {
  const auto find = [&](const std::string& name, const XmlElement& where) {
    const int link = find_link(name);
    if (link == -2) {
      log->Error(where.place, absl::StrCat("<", element.name, ">: there is no link \"", name,
                                           "\". Name one of the file"));
    }
    return link;
  };
  if (element.name == "drake:collision_filter_group") {
    bool ignore = false;
    ReadBool(AttributeOf(element, "ignore"), &ignore, log);
    if (ignore) return true;
    Group group;
    group.place = element.place;
    for (const XmlElement& child : element.children) {
      if (child.name == "drake:member") {
        const int link = find(NameOf(child, "link"), child);
        if (link >= 0) group.links.push_back(link);
        if (link == -3)
          log->LeftOut(child.place, "a deformable member of a <drake:collision_filter_group>");
      } else if (child.name == "drake:member_group") {
        group.groups.push_back(NameOf(child, "name"));
      } else if (child.name == "drake:ignored_collision_filter_group") {
        group.ignored.push_back(NameOf(child, "name"));
      } else {
        log->LeftOut(child.place, absl::StrCat("<", child.name, ">"));
      }
    }
    const std::string name = element.Get("name");
    if (!groups_.emplace(name, std::move(group)).second) {
      log->Error(element.place,
                 absl::StrCat(element.Label(), ": there are two of this name. Rename one"));
    }
    return true;
  }
  if (element.name == "drake:ball_constraint") {
    RobotLoop loop;
    loop.name = element.Get("name");
    const std::pair<const char*, int*> bodies[] = {{"drake:ball_constraint_body_A", &loop.link_a},
                                                   {"drake:ball_constraint_body_B", &loop.link_b}};
    for (const auto& [tag, link] : bodies) {
      const XmlElement* body = element.Child(tag);
      if (body == nullptr) {
        log->Error(element.place,
                   absl::StrCat("<", element.name, ">: <", tag, "> is missing; expected a link"));
        return true;
      }
      *link = find(NameOf(*body, "name"), *body);
      if (*link < -1) {
        if (*link == -3) log->LeftOut(body->place, "<drake:ball_constraint> of a deformable body");
        return true;
      }
    }
    ReadVector(DrakeValue(element, "drake:ball_constraint_p_AP"), &loop.X_AF.p, log,
               Range::kLength);
    ReadVector(DrakeValue(element, "drake:ball_constraint_p_BQ"), &loop.X_BF.p, log,
               Range::kLength);
    draft->robot.loops.push_back(std::move(loop));
    return true;
  }
  if (element.name == "drake:linear_bushing_rpy" || element.name == "drake:linear_spring_damper" ||
      element.name == "drake:tendon_constraint") {
    log->LeftOut(element.place, absl::StrCat("<", element.name, ">"),
                 "such forces are not supported yet");
    return true;
  }
  return false;
}

void DrakeModelTags::ExcludeContacts(RobotDraft* draft, RobotLog* log) {
  // expand nested groups, visiting each group once
  std::map<std::string, std::vector<int>> members;
  for (const auto& [name, group] : groups_) {
    std::set<std::string> seen = {name};
    std::vector<std::string> open = {name};
    std::set<int> links;
    while (!open.empty()) {
      const std::string at = open.back();
      open.pop_back();
      const auto found = groups_.find(at);
      if (found == groups_.end()) {
        log->Error(group.place, absl::StrCat("<drake:collision_filter_group> \"", name,
                                             "\": there is no group \"", at, "\""));
        continue;
      }
      links.insert(found->second.links.begin(), found->second.links.end());
      for (const std::string& inner : found->second.groups) {
        if (seen.insert(inner).second) open.push_back(inner);
      }
    }
    members[name].assign(links.begin(), links.end());
  }
  std::set<std::pair<int, int>> pairs;
  for (const auto& [name, group] : groups_) {
    for (const std::string& ignored : group.ignored) {
      const auto found = members.find(ignored);
      if (found == members.end()) {
        log->Error(group.place, absl::StrCat("<drake:collision_filter_group> \"", name,
                                             "\": there is no group \"", ignored, "\""));
        continue;
      }
      for (const int a : members[name]) {
        for (const int b : found->second) {
          if (a != b) pairs.insert({std::min(a, b), std::max(a, b)});
        }
        if (pairs.size() > kMaxExcludedPairs) {
          log->Error(group.place, absl::StrCat("the collision filter groups exclude more than ",
                                               kMaxExcludedPairs, " pairs; expected fewer"));
          return;
        }
      }
    }
  }
  auto& excluded = draft->robot.excluded_contacts;
  excluded.insert(excluded.end(), pairs.begin(), pairs.end());
}

}  // namespace pliant::physics
