#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"

#include "physics/scene/robot_files/mjcf/mjcf_model.h"
#include "physics/scene/robot_files/parts/defects.h"

namespace pliant::physics {
namespace {

// Whether a range acts as a limit: stated, or implied by its presence.
bool IsLimited(const XmlElement& element, const char* attribute, bool has_range,
               const MjcfModel& model) {
  const std::string said = element.Get(attribute);
  if (said == "true") return true;
  if (said == "false") return false;
  if (!said.empty() && said != "auto") {
    model.log->Error(element.place,
                     absl::StrCat(element.Label(), " ", attribute, ": \"", said,
                                  "\" is not allowed; expected true, false or auto"));
  }
  return has_range && model.settings.automatic_limits;
}

}  // namespace

MjcfJoint ReadMjcfJoint(const XmlElement& element, const MjcfModel& model) {
  MjcfJoint result;
  Joint& joint = result.joint;
  RobotLog* log = model.log;
  static const std::map<std::string, JointType> kTypes = {{"", JointType::kRevolute},
                                                          {"hinge", JointType::kRevolute},
                                                          {"slide", JointType::kPrismatic},
                                                          {"ball", JointType::kBall},
                                                          {"free", JointType::kFree}};
  const std::string type = element.name == "freejoint" ? "free" : element.Get("type");
  const auto found = kTypes.find(type);
  if (found == kTypes.end()) {
    log->Error(element.place, absl::StrCat(element.Label(), " type: \"", type,
                                           "\" is unknown; expected hinge, slide, ball or free"));
    return result;
  }
  joint.type = found->second;
  if (element.name == "freejoint") return result;
  const bool angular = joint.type == JointType::kRevolute;
  const bool one = angular || joint.type == JointType::kPrismatic;
  const auto unit = [&](double x) { return angular ? model.settings.Radians(x) : x; };
  if (joint.type != JointType::kFree)
    ReadVector(AttributeOf(element, "pos"), &result.anchor, log, Range::kLength);
  if (one) ReadAxis(AttributeOf(element, "axis"), &joint.axis, log, AxisLength::kAny);

  std::vector<double> range;
  const bool has_range =
      ReadNumbers(AttributeOf(element, "range"), 2, 2, &range, log, Range::kInfinite);
  if (joint.type != JointType::kFree && IsLimited(element, "limited", has_range, model)) {
    if (!one) {
      log->LeftOut(element.place, absl::StrCat("range of a ", type, " joint"));
    } else if (!has_range) {
      log->Error(element.place,
                 absl::StrCat(element.Label(), ": is limited but has no range. Give range=\"…\""));
    } else {
      SetLimits(range[0], range[1], element.place, element.Label(), &joint, log);
      joint.lower = unit(joint.lower);
      joint.upper = unit(joint.upper);
    }
  }
  std::vector<double> force;
  const bool has_force =
      ReadNumbers(AttributeOf(element, "actuatorfrcrange"), 2, 2, &force, log, Range::kInfinite);
  if (has_force && IsLimited(element, "actuatorfrclimited", true, model))
    joint.effort_limit = std::max(std::abs(force[0]), std::abs(force[1]));

  std::vector<double> damping;
  if (ReadNumbers(AttributeOf(element, "damping"), 1, 3, &damping, log)) {
    joint.damping = std::max(damping[0], 0.0);
    if (damping[0] < 0) {
      log->Mended(element.place, absl::StrCat(element.Label(),
                                              ": negative damping, which would "
                                              "drive the joint, is left out"));
    }
    if (std::any_of(damping.begin() + 1, damping.end(), [](double d) { return d != 0; }))
      log->LeftOut(element.place, "damping of a joint beyond the linear");
  }
  std::vector<double> stiffness;
  if (ReadNumbers(AttributeOf(element, "stiffness"), 1, 3, &stiffness, log, Range::kNotNegative)) {
    joint.spring_stiffness = stiffness[0];
    if (std::any_of(stiffness.begin() + 1, stiffness.end(), [](double k) { return k != 0; }))
      log->LeftOut(element.place, "stiffness of a joint beyond the linear");
  }
  if (joint.type == JointType::kFree && joint.spring_stiffness > 0) {
    log->LeftOut(element.place, "stiffness of a free joint");
    joint.spring_stiffness = 0;
  }
  ReadNumber(AttributeOf(element, "frictionloss"), &joint.friction_loss, log, Range::kNotNegative);
  if (element.Get("actuatorgravcomp") == "true")
    log->LeftOut(element.place, "actuatorgravcomp of a joint",
                 "compensation of gravity takes nothing of its actuator's effort");
  if (element.Find("springyield") != nullptr)
    log->LeftOut(element.place, "springyield of a joint", "its spring stays elastic");
  ReadNumber(AttributeOf(element, "armature"), &joint.rotor_inertia, log, Range::kNotNegative);
  double number = 0;
  if (one && ReadNumber(AttributeOf(element, "springref"), &number, log, Range::kAngle))
    joint.spring_rest = unit(number);
  if (one && ReadNumber(AttributeOf(element, "ref"), &number, log, Range::kAngle))
    result.reference = unit(number);
  std::vector<double> spring_damper;
  if (ReadNumbers(AttributeOf(element, "springdamper"), 2, 2, &spring_damper, log) &&
      spring_damper[0] > 0 && spring_damper[1] > 0) {
    if (one) {
      result.time_constant = spring_damper[0];
      result.damping_ratio = spring_damper[1];
    } else {
      log->LeftOut(element.place, "springdamper of a ball or free joint",
                   "give stiffness and damping");
    }
  }
  for (const char* solver :
       {"solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin"}) {
    if (element.Find(solver) != nullptr) {
      log->LeftOut(element.place, "solref, solimp or margin of a joint",
                   "limits and friction are as rigid as possible");
      break;
    }
  }
  return result;
}

}  // namespace pliant::physics
