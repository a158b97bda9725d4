#include "physics/scene/robot_files/mjcf/defaults.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

constexpr int kMaxClassDepth = 64;

bool IsRotation(const std::string& attribute) {
  return IsOneOf(attribute, {"quat", "axisangle", "euler", "xyaxes", "zaxis"});
}

// Attributes that all kinds of actuators share: a default for one kind sets them for all.
bool IsCommonToActuators(const std::string& attribute) {
  return IsOneOf(attribute, {"ctrllimited", "forcelimited", "actlimited", "ctrlrange", "forcerange",
                             "actrange", "gear", "group", "joint", "jointinparent", "tendon",
                             "site", "refsite", "body", "cranksite", "slidersite", "cranklength"});
}

void Set(const XmlAttribute& attribute, std::vector<XmlAttribute>* attributes) {
  for (XmlAttribute& own : *attributes) {
    if (own.name == attribute.name) {
      own.value = attribute.value;
      return;
    }
  }
  attributes->push_back(attribute);
}

}  // namespace

bool IsMjcfActuator(const std::string& name) {
  return IsOneOf(name,
                 {"general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder",
                  "muscle", "adhesion", "dcmotor", "orientation", "pid", "plugin"});
}

void MjcfDefaults::Read(const XmlElement& section, RobotLog* log) {
  std::string name = section.Get("class");
  if (name.empty()) name = "main";
  if (name != "main") {
    log->Mended(section.place, absl::StrCat("<default> class: \"", name,
                                            "\" is outside the main <default>; it is read as one "
                                            "inside it"));
    if (classes_.contains(name)) {
      log->Error(section.place,
                 absl::StrCat("<default> class: \"", name, "\" is already taken. Rename one"));
      return;
    }
    classes_[name].parent = "main";
  }
  ReadClass(section, name, 0, log);
}

void MjcfDefaults::ReadClass(const XmlElement& section, const std::string& name, int depth,
                             RobotLog* log) {
  if (depth > kMaxClassDepth) {
    log->Error(section.place, absl::StrCat("<default>: classes are nested more than ",
                                           kMaxClassDepth, " deep; expected fewer"));
    return;
  }
  for (const XmlElement& child : section.children) {
    if (child.name == "default") continue;
    std::vector<XmlAttribute>& attributes = classes_[name].attributes[child.name];
    for (const XmlAttribute& attribute : child.attributes) Set(attribute, &attributes);
  }
  for (const XmlElement& child : section.children) {
    if (child.name != "default") continue;
    const std::string inner = child.Get("class");
    if (inner.empty() || classes_.contains(inner)) {
      log->Error(child.place, inner.empty()
                                  ? std::string("<default>: has no class; expected class=\"…\"")
                                  : absl::StrCat("<default> class: \"", inner,
                                                 "\" is already taken. Rename one"));
      continue;
    }
    classes_[inner].parent = name;
    ReadClass(child, inner, depth + 1, log);
  }
}

XmlElement MjcfDefaults::Apply(const XmlElement& element, const std::string& child_class,
                               RobotLog* log) const {
  std::string name = element.Get("class");
  if (name.empty()) name = child_class.empty() ? "main" : child_class;
  auto found = classes_.find(name);
  if (found == classes_.end()) {
    log->Error(element.place, absl::StrCat(element.Label(), ": there is no default class \"", name,
                                           "\". Define it, or correct the name"));
    found = classes_.find("main");
  }
  std::vector<const Class*> chain = {&found->second};
  while (found->first != "main") {
    found = classes_.find(found->second.parent);
    chain.push_back(&found->second);
  }

  XmlElement result;
  result.name = element.name;
  result.place = element.place;
  const bool actuator = IsMjcfActuator(element.name);
  const bool turned = std::any_of(element.attributes.begin(), element.attributes.end(),
                                  [](const XmlAttribute& a) { return IsRotation(a.name); });
  for (std::size_t i = chain.size(); i-- > 0;) {
    for (const auto& [kind, attributes] : chain[i]->attributes) {
      const bool own = kind == element.name;
      if (!own && !(actuator && IsMjcfActuator(kind))) continue;
      for (const XmlAttribute& attribute : attributes) {
        if (!own && !IsCommonToActuators(attribute.name)) continue;
        // a rotation replaces one given in another form
        if (turned && IsRotation(attribute.name)) continue;
        Set(attribute, &result.attributes);
      }
    }
  }
  for (const XmlAttribute& attribute : element.attributes) Set(attribute, &result.attributes);
  return result;
}

}  // namespace pliant::physics
