#include "server/control/read_command.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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

// Reads `numbers` as a vector of three. If they are optional and missing, it is zero.
absl::Status ReadVector(const char* field, const google::protobuf::RepeatedField<double>& numbers,
                        bool required, Eigen::Vector3d* vector) {
  vector->setZero();
  if (numbers.empty() && !required) return absl::OkStatus();
  if (numbers.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ": ", numbers.size(), " numbers; expected 3"));
  }
  for (int i = 0; i < 3; ++i) {
    if (!std::isfinite(numbers[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": ", numbers[i], " is not a finite number"));
    }
    (*vector)[i] = numbers[i];
  }
  return absl::OkStatus();
}

absl::StatusOr<DriveGoal> ReadTwist(const v1::Twist& twist) {
  TwistGoal goal;
  absl::Status status = ReadVector("twist.linear", twist.linear(), false, &goal.linear);
  if (status.ok()) status = ReadVector("twist.angular", twist.angular(), false, &goal.angular);
  if (!status.ok()) return status;
  return goal;
}

absl::StatusOr<DriveGoal> ReadPose(const v1::BodyPose& pose) {
  PoseGoal goal;
  const absl::Status status = ReadVector("pose.position", pose.position(), true, &goal.position);
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

// Reads commands to one robot, which name its joints and controllers.
class RobotCommandReader {
 public:
  RobotCommandReader(const physics::Model& model, int robot)
      : model_(model), robot_(robot), name_(Quoted(model.robots[robot].name)) {}

  absl::StatusOr<RobotGoal> ReadJointTargets(const v1::JointTargets& targets) const {
    if (targets.joints_size() != targets.values_size() || targets.joints().empty()) {
      return absl::InvalidArgumentError(absl::StrCat("joint_targets: ", targets.joints_size(),
                                                     " joints and ", targets.values_size(),
                                                     " values; expected one value per joint"));
    }
    absl::flat_hash_map<std::string, int> actuators = FindActuators();
    std::vector<JointGoal> goals;
    for (int i = 0; i < targets.joints_size(); ++i) {
      const std::string& joint = targets.joints(i);
      const auto found = actuators.find(joint);
      if (found == actuators.end()) return ExplainJoint(targets, i);
      if (!std::isfinite(targets.values(i))) {
        return absl::InvalidArgumentError(absl::StrCat("joint_targets.values[", i,
                                                       "]: ", targets.values(i), " for ",
                                                       Quoted(joint), " is not a finite number"));
      }
      goals.push_back({found->second, Clamp(found->second, targets.values(i))});
      actuators.erase(found);
    }
    return goals;
  }

  absl::StatusOr<RobotGoal> ReadGripper(const v1::GripperTarget& target) const {
    const absl::StatusOr<int> controller =
        FindController(target.controller(), Controller::Kind::kGripper, "gripper.controller");
    if (!controller.ok()) return controller.status();
    if (!std::isfinite(target.position())) {
      return absl::InvalidArgumentError(
          absl::StrCat("gripper.position: ", target.position(), " is not a finite number"));
    }
    std::vector<JointGoal> goals;
    for (const int actuator : model_.controllers[*controller].actuators)
      goals.push_back({actuator, Clamp(actuator, target.position())});
    return goals;
  }

  absl::StatusOr<RobotGoal> ReadTool(const std::string& name,
                                     absl::StatusOr<DriveGoal> goal) const {
    if (!goal.ok()) return goal.status();
    const absl::StatusOr<int> controller =
        FindController(name, Controller::Kind::kDifferentialIk, "controller");
    if (!controller.ok()) return controller.status();
    return ToolGoal{*controller, *std::move(goal)};
  }

 private:
  // Actuators of the robot by their joint's name.
  absl::flat_hash_map<std::string, int> FindActuators() const {
    absl::flat_hash_map<std::string, int> actuators;
    for (int i = 0; i < static_cast<int>(model_.actuators.size()); ++i) {
      const Actuator& actuator = model_.actuators[i];
      if (actuator.robot == robot_) actuators[model_.joint_of(actuator).name] = i;
    }
    return actuators;
  }

  // Error that says why a joint cannot be given a target, or not a second one.
  absl::Status ExplainJoint(const v1::JointTargets& targets, int index) const {
    const std::string field = absl::StrCat("joint_targets.joints[", index, "]");
    const std::string& name = targets.joints(index);
    const auto first = std::find(targets.joints().begin(), targets.joints().end(), name);
    if (first - targets.joints().begin() < index)
      return absl::InvalidArgumentError(absl::StrCat(field, ": ", Quoted(name), " is named twice"));

    std::vector<std::string> driven;
    for (const Actuator& actuator : model_.actuators) {
      if (actuator.robot == robot_) driven.push_back(model_.joint_of(actuator).name);
    }
    const std::vector<RobotJoint>& joints = model_.robots[robot_].joints;
    const bool exists = std::any_of(joints.begin(), joints.end(),
                                    [&](const RobotJoint& joint) { return joint.name == name; });
    return absl::InvalidArgumentError(
        exists ? absl::StrCat(field, ": ", Quoted(name), " of robot ", name_,
                              " has no actuator; joints with actuators: ", List(driven))
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
      if (controller.robot != robot_ || controller.kind != kind) continue;
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

  double Clamp(int index, double value) const {
    const Actuator& actuator = model_.actuators[index];
    const RobotJoint& joint = model_.joint_of(actuator);
    switch (actuator.kind) {
      case Actuator::Kind::kPosition:
        return std::clamp(value, joint.lower, joint.upper);
      case Actuator::Kind::kVelocity:
        return std::clamp(value, -joint.velocity_limit, joint.velocity_limit);
      case Actuator::Kind::kEffort:
        break;
    }
    return std::clamp(value, -actuator.effort_limit, actuator.effort_limit);
  }

  const physics::Model& model_;
  const int robot_;
  const std::string name_;
};

}  // namespace

absl::StatusOr<DriveGoal> ReadBodyCommand(const physics::Body& body,
                                          const v1::CommandRequest& command) {
  if (!command.controller().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("controller: ", Quoted(body.name), " is a body and has no controllers"));
  }
  switch (command.command_case()) {
    case v1::CommandRequest::kTwist:
      return ReadTwist(command.twist());
    case v1::CommandRequest::kPose:
      return ReadPose(command.pose());
    case v1::CommandRequest::kJointTargets:
    case v1::CommandRequest::kGripper:
      return absl::InvalidArgumentError(absl::StrCat(
          "command: ", Quoted(body.name), " is a body and has no joints; expected twist or pose"));
    case v1::CommandRequest::COMMAND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("command: missing; expected twist or pose");
}

absl::StatusOr<RobotGoal> ReadRobotCommand(const physics::Model& model, int robot,
                                           const v1::CommandRequest& command) {
  const RobotCommandReader reader(model, robot);
  switch (command.command_case()) {
    case v1::CommandRequest::kTwist:
      return reader.ReadTool(command.controller(), ReadTwist(command.twist()));
    case v1::CommandRequest::kPose:
      return reader.ReadTool(command.controller(), ReadPose(command.pose()));
    case v1::CommandRequest::kJointTargets:
      return reader.ReadJointTargets(command.joint_targets());
    case v1::CommandRequest::kGripper:
      return reader.ReadGripper(command.gripper());
    case v1::CommandRequest::COMMAND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "command: missing; expected joint_targets, gripper, twist or pose");
}

}  // namespace pliant::server
