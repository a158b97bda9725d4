#include "server/control/read_command.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "server/control/read_pull.h"
#include "server/host/text.h"

namespace pliant::server {
namespace {

using physics::Actuator;
using physics::Controller;
using physics::RobotJoint;

constexpr std::size_t kMaxNamesListed = 40;
constexpr std::size_t kMaxNameLength = 80;

std::string Quoted(const std::string& name) {
  return absl::StrCat("\"", Shorten(name, kMaxNameLength), "\"");
}

std::string List(std::vector<std::string> names) {
  if (names.empty()) return "none";
  const std::size_t count = names.size();
  if (count > kMaxNamesListed) names.resize(kMaxNamesListed);
  return absl::StrCat(
      absl::StrJoin(names, ", "),
      count > kMaxNamesListed ? absl::StrCat(" and ", count - kMaxNamesListed, " more") : "");
}

absl::StatusOr<DriveGoal> ReadTwist(const v1::Twist& twist) {
  TwistGoal goal;
  absl::Status status = ReadCommandVector("twist.linear", twist.linear(), false, &goal.linear);
  if (status.ok())
    status = ReadCommandVector("twist.angular", twist.angular(), false, &goal.angular);
  if (!status.ok()) return status;
  return goal;
}

absl::StatusOr<DriveGoal> ReadPose(const v1::BodyPose& pose) {
  PoseGoal goal;
  const absl::Status status =
      ReadCommandVector("pose.position", pose.position(), true, &goal.position);
  if (!status.ok()) return status;
  const auto& q = pose.quaternion();
  if (q.size() != 0 && q.size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("pose.quaternion: ", q.size(), " numbers; expected w, x, y, z"));
  }
  if (q.size() == 4) {
    goal.orientation = Eigen::Quaterniond(q[0], q[1], q[2], q[3]);
    const double size = goal.orientation.norm();
    if (!std::isfinite(size) || size < 1e-6) {
      return absl::InvalidArgumentError(
          "pose.quaternion: not a rotation; expected four finite numbers, not all zero");
    }
    goal.orientation.normalize();
  }
  return goal;
}

// Reads commands to one robot or an actuator group of it, which name its joints and controllers.
class RobotCommandReader {
 public:
  RobotCommandReader(const physics::Model& model, const Target& target)
      : model_(model),
        target_(target),
        robot_(target.robot),
        name_(Quoted(model.robots[target.robot].name)) {}

  absl::StatusOr<Goals> ReadJointTargets(const v1::JointTargets& targets) const {
    if (targets.joints_size() != targets.values_size() || targets.joints().empty()) {
      return absl::InvalidArgumentError(absl::StrCat("joint_targets: ", targets.joints_size(),
                                                     " joints and ", targets.values_size(),
                                                     " values; expected one value per joint"));
    }
    absl::flat_hash_map<std::string, int> actuators = FindActuators();
    Goals goals;
    for (int i = 0; i < targets.joints_size(); ++i) {
      const std::string& joint = targets.joints(i);
      const auto found = actuators.find(joint);
      if (found == actuators.end()) return ExplainJoint("joint_targets", targets.joints(), i);
      if (!std::isfinite(targets.values(i))) {
        return absl::InvalidArgumentError(absl::StrCat("joint_targets.values[", i,
                                                       "]: ", targets.values(i), " for ",
                                                       Quoted(joint), " is not a finite number"));
      }
      goals.joints.push_back({found->second, Clamp(found->second, targets.values(i))});
      actuators.erase(found);
    }
    return goals;
  }

  absl::StatusOr<Goals> ReadGains(const v1::Gains& gains) const {
    absl::flat_hash_map<std::string, int> actuators = FindActuators();
    if (gains.joints().empty())
      return absl::InvalidArgumentError("gains.joints: empty; expected at least one joint");
    Goals goals;
    for (int i = 0; i < gains.joints_size(); ++i) {
      const auto found = actuators.find(gains.joints(i));
      if (found == actuators.end()) return ExplainJoint("gains", gains.joints(), i);
      goals.gains.push_back({found->second, {}, {}, {}});
      actuators.erase(found);
    }
    absl::Status status = ReadGain("stiffness", gains, gains.stiffness(), &GainGoal::stiffness,
                                   &Actuator::max_stiffness, &goals.gains);
    if (status.ok()) {
      status = ReadGain("damping", gains, gains.damping(), &GainGoal::damping,
                        &Actuator::max_damping, &goals.gains);
    }
    if (status.ok()) {
      status = ReadGain("effort_limit", gains, gains.effort_limit(), &GainGoal::effort_limit,
                        &Actuator::effort_limit, &goals.gains);
    }
    if (!status.ok()) return status;
    return goals;
  }

  absl::StatusOr<Goals> ReadGripper(const v1::GripperTarget& target) const {
    const absl::StatusOr<int> controller =
        FindController(target.controller(), Controller::Kind::kGripper, "gripper.controller");
    if (!controller.ok()) return controller.status();
    if (!std::isfinite(target.position())) {
      return absl::InvalidArgumentError(
          absl::StrCat("gripper.position: ", target.position(), " is not a finite number"));
    }
    // written so that NaN is refused
    if (target.has_force() && !(target.force() > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("gripper.force: ", target.force(), " is not allowed; expected above 0"));
    }
    Goals goals;
    for (const int index : model_.controllers[*controller].actuators) {
      goals.joints.push_back({index, Clamp(index, target.position())});
      if (!target.has_force()) continue;
      const double limit = model_.actuators[index].effort_limit;
      goals.gains.push_back({index, {}, {}, std::min(target.force(), limit)});
    }
    return goals;
  }

  // The motion that the robot's profile gives a gamepad's state. Controls of joints that the target
  // does not have do nothing.
  absl::StatusOr<Goals> ReadGamepad(const v1::Gamepad& gamepad) const {
    const physics::Teleoperation& teleop = model_.robots[robot_].teleop;
    if (teleop.gamepad.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "gamepad: robot ", name_, " has no profile; add `teleop: {gamepad: …}` to its scene"));
    }
    for (const auto& [field, numbers, count] :
         {std::tuple{"axes", &gamepad.axes(), 4}, std::tuple{"buttons", &gamepad.buttons(), 17}}) {
      if (numbers->size() > count) {
        return absl::InvalidArgumentError(absl::StrCat("gamepad.", field, ": ", numbers->size(),
                                                       " numbers; expected at most ", count));
      }
      if (!std::ranges::all_of(*numbers, [](double x) { return std::isfinite(x); })) {
        return absl::InvalidArgumentError(
            absl::StrCat("gamepad.", field, ": not all are finite numbers"));
      }
    }
    return MapGamepad(teleop, gamepad);
  }

  absl::StatusOr<Goals> ReadTool(const std::string& name, absl::StatusOr<DriveGoal> goal) const {
    if (!goal.ok()) return goal.status();
    const absl::StatusOr<int> controller =
        FindController(name, Controller::Kind::kDifferentialIk, "controller");
    if (!controller.ok()) return controller.status();
    Goals goals;
    goals.tools.push_back({*controller, *std::move(goal)});
    return goals;
  }

 private:
  // Sets one kind of gain from a list with one number per joint or none.
  absl::Status ReadGain(const char* field, const v1::Gains& gains,
                        const google::protobuf::RepeatedField<double>& values,
                        std::optional<double> GainGoal::*gain, double Actuator::*limit,
                        std::vector<GainGoal>* goals) const {
    if (values.empty()) return absl::OkStatus();
    if (values.size() != gains.joints_size()) {
      return absl::InvalidArgumentError(absl::StrCat("gains.", field, ": ", values.size(),
                                                     " values for ", gains.joints_size(),
                                                     " joints; expected one per joint, or none"));
    }
    for (int i = 0; i < values.size(); ++i) {
      GainGoal& goal = (*goals)[i];
      const Actuator& actuator = model_.actuators[goal.actuator];
      const std::string place =
          absl::StrCat("gains.", field, "[", i, "]: ", values[i], " for ", Quoted(gains.joints(i)));
      // written so that NaN is refused
      if (!(values[i] >= 0) || !std::isfinite(values[i])) {
        return absl::InvalidArgumentError(
            absl::StrCat(place, " is not allowed; expected a finite number of 0 or more"));
      }
      if (model_.joint_of(actuator).kind == RobotJoint::Kind::kActivation)
        return absl::InvalidArgumentError(absl::StrCat(place, ", an activation without gains"));
      if (gain == &GainGoal::stiffness && actuator.kind != Actuator::Kind::kPosition) {
        return absl::InvalidArgumentError(
            absl::StrCat(place, ", whose actuator has no stiffness; only PD actuators have one"));
      }
      goal.*gain = std::min(values[i], actuator.*limit);
    }
    return absl::OkStatus();
  }

  bool Commands(const std::vector<int>& actuators) const {
    return std::ranges::all_of(actuators, [this](int actuator) {
      return std::ranges::binary_search(target_.actuators, actuator);
    });
  }

  Goals MapGamepad(const physics::Teleoperation& teleop, const v1::Gamepad& gamepad) const {
    const auto at = [](const auto& numbers, int index) {
      return index >= 0 && index < numbers.size() ? std::clamp(numbers[index], -1.0, 1.0) : 0.0;
    };
    const bool released =
        teleop.hold_button >= 0 && at(gamepad.buttons(), teleop.hold_button) <= teleop.dead_zone;
    Goals goals;
    for (const physics::Teleoperation::GamepadControl& control : teleop.gamepad) {
      const bool is_tool = control.controller >= 0;
      if (!Commands(is_tool ? model_.controllers[control.controller].actuators : control.actuators))
        continue;
      const double raw = control.axis >= 0 ? at(gamepad.axes(), control.axis)
                                           : at(gamepad.buttons(), control.button);
      const double beyond = std::max(std::abs(raw) - teleop.dead_zone, 0.0);
      const double value = released ? 0 : std::copysign(beyond / (1 - teleop.dead_zone), raw);
      if (is_tool) {
        AddTwist(control, value, &goals.tools);
        continue;
      }
      for (const int actuator : control.actuators) {
        auto jog = std::ranges::find(goals.jogs, actuator, &JogGoal::actuator);
        if (jog == goals.jogs.end()) jog = goals.jogs.insert(jog, {actuator, 0});
        jog->rate += value * control.rate;
      }
    }
    return goals;
  }

  static void AddTwist(const physics::Teleoperation::GamepadControl& control, double value,
                       std::vector<ToolGoal>* tools) {
    auto tool = std::ranges::find(*tools, control.controller, &ToolGoal::controller);
    if (tool == tools->end()) tool = tools->insert(tool, {control.controller, TwistGoal{}});
    TwistGoal& twist = std::get<TwistGoal>(tool->goal);
    twist.linear += value * control.linear_W;
    twist.angular += value * control.angular_W;
  }

  // Actuators of the target by their joint's name.
  absl::flat_hash_map<std::string, int> FindActuators() const {
    absl::flat_hash_map<std::string, int> actuators;
    for (const int i : target_.actuators) actuators[model_.joint_of(model_.actuators[i]).name] = i;
    return actuators;
  }

  // Error that says why a joint cannot be given a target, or not a second one.
  absl::Status ExplainJoint(const char* command,
                            const google::protobuf::RepeatedPtrField<std::string>& given,
                            int index) const {
    const std::string field = absl::StrCat(command, ".joints[", index, "]");
    const std::string& name = given[index];
    const auto first = std::find(given.begin(), given.end(), name);
    if (first - given.begin() < index)
      return absl::InvalidArgumentError(absl::StrCat(field, ": ", Quoted(name), " is named twice"));

    std::vector<std::string> driven;
    for (const int i : target_.actuators)
      driven.push_back(model_.joint_of(model_.actuators[i]).name);
    const std::vector<RobotJoint>& joints = model_.robots[robot_].joints;
    const bool exists = std::any_of(joints.begin(), joints.end(),
                                    [&](const RobotJoint& joint) { return joint.name == name; });
    return absl::InvalidArgumentError(
        exists
            ? absl::StrCat(field, ": ", Quoted(name), " of robot ", name_, " has no actuator in ",
                           Quoted(target_.lease.name), "; joints with actuators: ", List(driven))
            : absl::StrCat(field, ": robot ", name_, " has no joint ", Quoted(name),
                           "; joints that accept targets: ", List(driven)));
  }

  // Finds a controller of the robot. An empty name stands for the only one of its kind.
  absl::StatusOr<int> FindController(const std::string& name, Controller::Kind kind,
                                     const char* field) const {
    std::vector<std::string> names;
    int found = -1;
    for (int i = 0; i < static_cast<int>(model_.controllers.size()); ++i) {
      const Controller& controller = model_.controllers[i];
      if (controller.robot != robot_ || controller.kind != kind || !Commands(controller.actuators))
        continue;
      names.push_back(controller.name.substr(model_.robots[robot_].name.size() + 1));
      if (names.back() == name || name.empty()) found = i;
    }
    if (found >= 0 && (!name.empty() || names.size() == 1)) return found;
    const char* what = kind == Controller::Kind::kGripper ? "gripper" : "differential_ik";
    if (names.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": robot ", name_, " has no ", what,
                       " controller; add one to its `controllers` in the scene"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": ",
                     name.empty() ? absl::StrCat("not given; robot ", name_, " has")
                                  : absl::StrCat("robot ", name_, " has no ", what, " controller ",
                                                 Quoted(name), "; it has"),
                     ": ", List(names)));
  }

  double Clamp(int index, double value) const { return ClampTarget(model_, index, value); }

  const physics::Model& model_;
  const Target& target_;
  const int robot_;
  const std::string name_;
};

// Mass of each body [kg].
std::vector<double> CalcMasses(const physics::Model& model) {
  std::vector<double> masses;
  for (const physics::Body& body : model.bodies) {
    if (physics::CountPoints(model, body) > 0) {
      masses.push_back(model.blocks[body.block]->mass(body.part));
      continue;
    }
    double volume = 0;
    for (const auto& t : body.mesh.tetrahedra) {
      const auto& x = body.mesh.vertices;
      volume += (x[t[1]] - x[t[0]]).cross(x[t[2]] - x[t[0]]).dot(x[t[3]] - x[t[0]]) / 6;
    }
    masses.push_back(volume > 0 ? volume * body.density : body.mass);
  }
  return masses;
}

}  // namespace

double ClampTarget(const physics::Model& model, int actuator, double value) {
  const Actuator& of = model.actuators[actuator];
  const RobotJoint& joint = model.joint_of(of);
  switch (of.kind) {
    case Actuator::Kind::kPosition:
      return std::clamp(value, joint.lower, joint.upper);
    case Actuator::Kind::kVelocity:
      return std::clamp(value, -joint.velocity_limit, joint.velocity_limit);
    case Actuator::Kind::kEffort:
      break;
  }
  return std::clamp(value, -of.effort_limit, of.effort_limit);
}

CommandReader::CommandReader(const physics::Model& model)
    : model_(model), masses_(CalcMasses(model)) {}

absl::StatusOr<Goals> CommandReader::Read(const Target& target,
                                          const v1::CommandRequest& command) const {
  if (command.has_spring() || command.has_wrench()) {
    const absl::StatusOr<Pull> pull = ReadPull(model_, target, masses_, command);
    if (!pull.ok()) return pull.status();
    Goals goals;
    goals.pull = *pull;
    return goals;
  }
  return target.robot >= 0 ? ReadRobot(target, command) : ReadBody(target, command);
}

absl::StatusOr<Goals> CommandReader::ReadBody(const Target& target,
                                              const v1::CommandRequest& command) const {
  const std::string name = Quoted(target.lease.name);
  const bool is_kinematic = model_.bodies[target.body].motion == physics::Motion::kKinematic;
  const char* expected = is_kinematic ? "expected twist or pose" : "expected spring or wrench";
  if (!command.controller().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("controller: ", name, " is a body and has no controllers"));
  }
  absl::StatusOr<DriveGoal> goal;
  switch (command.command_case()) {
    case v1::CommandRequest::kTwist:
      goal = ReadTwist(command.twist());
      break;
    case v1::CommandRequest::kPose:
      goal = ReadPose(command.pose());
      break;
    case v1::CommandRequest::COMMAND_NOT_SET:
      return absl::InvalidArgumentError(absl::StrCat("command: missing; ", expected));
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("command: ", name, " is a body and has no joints; ", expected));
  }
  if (!is_kinematic) {
    return absl::InvalidArgumentError(
        absl::StrCat("command: ", name, " is not KINEMATIC and moves freely; ", expected));
  }
  if (!goal.ok()) return goal.status();
  Goals goals;
  goals.body = *goal;
  return goals;
}

absl::StatusOr<Goals> CommandReader::ReadRobot(const Target& target,
                                               const v1::CommandRequest& command) const {
  const RobotCommandReader reader(model_, target);
  switch (command.command_case()) {
    case v1::CommandRequest::kTwist:
      return reader.ReadTool(command.controller(), ReadTwist(command.twist()));
    case v1::CommandRequest::kPose:
      return reader.ReadTool(command.controller(), ReadPose(command.pose()));
    case v1::CommandRequest::kJointTargets:
      return reader.ReadJointTargets(command.joint_targets());
    case v1::CommandRequest::kGripper:
      return reader.ReadGripper(command.gripper());
    case v1::CommandRequest::kGains:
      return reader.ReadGains(command.gains());
    case v1::CommandRequest::kGamepad:
      return reader.ReadGamepad(command.gamepad());
    default:
      break;
  }
  return absl::InvalidArgumentError(
      "command: missing; expected joint_targets, gripper, twist or pose, gains, gamepad, spring or "
      "wrench");
}

}  // namespace pliant::server
