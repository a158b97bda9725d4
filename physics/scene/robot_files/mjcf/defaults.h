#pragma once

#include <map>
#include <string>
#include <vector>

#include "physics/scene/robot_files/parts/xml_tree.h"

namespace pliant::physics {

// The default classes of an MJCF file: attributes of elements that do not set them.
class MjcfDefaults {
 public:
  // A <default> section and the classes nested in it.
  void Read(const XmlElement& section, RobotLog* log);

  bool Has(const std::string& name) const { return classes_.contains(name); }

  // An element with its own attributes and those of its class, else of `child_class`, else of the
  // main class. Without children.
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
