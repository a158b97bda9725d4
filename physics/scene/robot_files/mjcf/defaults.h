#pragma once

#include <map>
#include <string>
#include <vector>

#include "physics/scene/robot_files/parts/xml_tree.h"

namespace pliant::physics {

// The default classes of an MJCF file: attributes that elements have unless they say otherwise.
class MjcfDefaults {
 public:
  // A <default> section and the classes nested in it.
  void Read(const XmlElement& section, RobotLog* log);

  bool Has(const std::string& name) const { return classes_.contains(name); }

  // An element with its attributes and those of its class: its own, else `child_class`, else the
  // main one. Without children.
  XmlElement Apply(const XmlElement& element, const std::string& child_class, RobotLog* log) const;

 private:
  struct Class {
    std::string parent;                                           // of the main class: itself
    std::map<std::string, std::vector<XmlAttribute>> attributes;  // by the element's name
  };

  void ReadClass(const XmlElement& section, const std::string& name, int depth, RobotLog* log);

  std::map<std::string, Class> classes_ = {{"main", {"main", {}}}};
};

// motor, position, …
bool IsMjcfActuator(const std::string& name);

}  // namespace pliant::physics
