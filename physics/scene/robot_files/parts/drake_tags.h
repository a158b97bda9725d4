#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "physics/scene/robot_files/parts/robot_draft.h"
#include "physics/scene/robot_files/parts/xml_values.h"

namespace pliant::physics {

// Drake's extensions of URDF and SDF. Their prefix need not be declared.

// <drake:x value="…"/> as in URDF, or <drake:x>…</drake:x> as in SDF.
XmlValue DrakeValue(const XmlElement& parent, std::string_view tag);

// Reads <drake:proximity_properties> of a collision: mu_dynamic, point_contact_stiffness, and a
// compliant hydroelastic_modulus E as the stiffness E · r of a shape of half width r. The geometry
// must be filled in.
void ReadProximity(const XmlElement& collision, std::vector<RobotShape>* shapes, RobotLog* log);

// <drake:deformable_properties>: the material of a deformable body.
void ReadDeformableProperties(const XmlElement& properties, RobotDeformable* body, RobotLog* log);

// <drake:ellipsoid> and <drake:capsule> of a geometry, values as attributes or as text; false when
// there is none.
bool ReadDrakeGeometry(const XmlElement& geometry, Geometry* out, RobotLog* log);

// rotor_inertia, gear_ratio and controller_gains (fills `gains` and returns true), wherever the
// format puts them.
bool ReadDrakeActuation(const XmlElement& parent, Joint* joint, RobotActuator* gains,
                        RobotLog* log);

// Elements of a robot or model that name links: collision filter groups and ball constraints.
// Others are left out.
class DrakeModelTags {
 public:
  // The link of that name; −1: the world, −2: there is none, −3: it is deformable.
  using FindLink = std::function<int(const std::string&)>;

  // Reads an element if it is one of these; returns whether it is.
  bool Take(const XmlElement& element, const FindLink& find_link, RobotDraft* draft, RobotLog* log);

  // Applies the collision filters. Call once all groups are read.
  void ExcludeContacts(RobotDraft* draft, RobotLog* log);

 private:
  struct Group {
    FilePlace place;
    std::vector<int> links;
    std::vector<std::string> groups;   // nested groups
    std::vector<std::string> ignored;  // groups excluded from contact
  };

  std::map<std::string, Group> groups_;
};

}  // namespace pliant::physics
