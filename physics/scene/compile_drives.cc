// Actuators, controllers and teleoperation of robots, and constraints between bodies and joints.

#include <algorithm>
#include <regex>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/scene/compiler.h"
#include "physics/scene/robot_files/robot_description.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "pliant/v1/scene.pb.h"

namespace pliant::physics {
namespace {

// error of a gripper's joint at which the drive exerts its largest force [m], [rad]
constexpr double kGripperSlack = 0.002;
constexpr double kGripperSettling = 0.02;  // [s]

// Reads the limits of the gains that clients may set; by default the actuator's own gains.
bool ReadGainLimits(const v1::Actuator& given, const std::string& path, SceneLog* log,
                    Actuator* drive) {
  drive->max_stiffness = drive->stiffness;
  drive->max_damping = drive->damping;
  bool ok = true;
  if (given.has_max_stiffness()) {
    ok &= CheckNotNegative(path + ".max_stiffness", given.max_stiffness(), "stiffness", log);
    drive->max_stiffness = given.max_stiffness();
    if (drive->kind != Actuator::Kind::kPosition) {
      log->Error(path + ".max_stiffness",
                 "is given to an actuator without a stiffness. Use `pd`, or remove it");
      ok = false;
    }
  }
  if (given.has_max_damping()) {
    ok &= CheckNotNegative(path + ".max_damping", given.max_damping(), "damping", log);
    drive->max_damping = given.max_damping();
  }
  return ok;
}

}  // namespace

void SceneCompiler::CompileDrives() {
  if (log_.failed()) return;
  for (std::size_t r = 0; r < robot_placements_.size(); ++r) {
    const int draft = robot_placements_[r].draft;
    const std::string path = absl::StrCat("robots[", draft, "]");
    CompileActuators(static_cast<int>(r), scene_.robots(draft), path);
    CompileControllers(static_cast<int>(r), scene_.robots(draft), path);
    CompileTeleoperation(static_cast<int>(r), scene_.robots(draft).teleop(), path + ".teleop");
  }
  for (std::size_t i = 0; i < placements_.size(); ++i)
    AddActivations(static_cast<int>(i), drafts_[placements_[i].draft]);
  has_drives_ = !log_.failed();
}

// Makes the body a soft robot with its activations as actuators.
void SceneCompiler::AddActivations(int body, const BodyDraft& draft) {
  if (draft.activations.empty()) return;
  Robot robot;
  robot.name = model_->bodies[body].name;
  for (const Robot& other : model_->robots) {
    if (other.name != robot.name) continue;
    log_.Error(absl::StrCat("bodies[", placements_[body].draft, "].name"),
               absl::StrCat(
                   Quoted(robot.name),
                   " is also the name of a robot; expected another, because both have actuators"));
    return;
  }
  for (std::size_t k = 0; k < draft.activations.size(); ++k) {
    Actuator actuator = draft.activations[k];
    RobotJoint joint;
    joint.name = actuator.name;
    joint.kind = RobotJoint::Kind::kActivation;
    joint.block = model_->bodies[body].block;
    joint.channel = static_cast<int>(k);
    joint.body = body;
    joint.effort_limit = actuator.effort_limit;
    actuator.name = absl::StrCat(robot.name, "/", joint.name);
    actuator.robot = static_cast<int>(model_->robots.size());
    actuator.joint = static_cast<int>(k);
    robot.joints.push_back(std::move(joint));
    model_->actuators.push_back(std::move(actuator));
  }
  model_->robots.push_back(std::move(robot));
}

// Finds joints of one velocity whose whole name matches; an error if there is none. A joint driven
// by a coupler matches only its exact name.
std::vector<int> SceneCompiler::MatchJoints(int robot, const std::string& pattern,
                                            const std::string& path) {
  std::vector<int> found;
  std::vector<std::string> names;
  const std::vector<RobotJoint>& joints = model_->robots[robot].joints;
  const std::vector<int>& followers = robots_[robot_placements_[robot].draft].followers;
  std::regex expression;
  constexpr std::size_t kMaxTextLength = 256;
  if (pattern.empty() || pattern.size() > kMaxTextLength) {
    Missing(path, "the name of a joint, or a regular expression", &log_);
    return {};
  }
  try {
    expression = std::regex(pattern);
  } catch (const std::regex_error&) {
    log_.Error(path, absl::StrCat(Quoted(pattern),
                                  " is not a valid regular expression; expected one such as ",
                                  "joint_.*, or the name of a joint"));
    return {};
  }
  for (std::size_t j = 0; j < joints.size(); ++j) {
    names.push_back(joints[j].name);
    if (joints[j].num_velocities != 1) continue;
    const int link = joints[j].body - model_->robots[robot].bodies.front();
    const bool follows = std::find(followers.begin(), followers.end(), link) != followers.end();
    if (joints[j].name == pattern || (!follows && std::regex_match(joints[j].name, expression)))
      found.push_back(static_cast<int>(j));
  }
  if (found.empty()) {
    log_.Error(path,
               absl::StrCat(Quoted(pattern), " matches no joint with one degree of freedom of ",
                            Quoted(model_->robots[robot].name), DidYouMean(pattern, names)));
  }
  return found;
}

void SceneCompiler::CompileActuators(int robot, const v1::Robot& given, const std::string& path) {
  const RobotDescription& description = *robots_[robot_placements_[robot].draft].description;
  const std::vector<RobotJoint>& joints = model_->robots[robot].joints;
  std::vector<std::optional<Actuator>> drives(joints.size());

  // drives of the robot's own file, unless the scene gives others
  for (const RobotActuator& own : description.actuators) {
    for (std::size_t j = 0; j < joints.size(); ++j) {
      if (own.link < 0 || joints[j].name != description.links[own.link].joint.name ||
          joints[j].num_velocities != 1)
        continue;
      Actuator& drive = drives[j].emplace();
      drive.kind = own.kind == RobotActuator::Kind::kPosition   ? Actuator::Kind::kPosition
                   : own.kind == RobotActuator::Kind::kVelocity ? Actuator::Kind::kVelocity
                                                                : Actuator::Kind::kEffort;
      drive.stiffness = own.stiffness;
      drive.damping = own.damping;
      drive.effort_limit = std::min(own.effort_limit, joints[j].effort_limit);
      drive.max_stiffness = own.stiffness;
      drive.max_damping = own.damping;
    }
  }
  for (int i = 0; i < given.actuators_size(); ++i) {
    const v1::Actuator& a = given.actuators(i);
    const std::string at = absl::StrCat(path, ".actuators[", i, "]");
    Actuator drive;
    bool ok = true;
    if (a.has_effort_limit())
      ok &= CheckPositive(at + ".effort_limit", a.effort_limit(), "effort in N·m or N", &log_);
    switch (a.kind_case()) {
      case v1::Actuator::kPd:
        drive.kind = Actuator::Kind::kPosition;
        drive.stiffness = a.pd().stiffness();
        drive.damping = a.pd().damping();
        drive.gravity_compensation = a.pd().gravity_compensation();
        ok &= CheckNotNegative(at + ".pd.stiffness", drive.stiffness, "stiffness", &log_);
        ok &= CheckNotNegative(at + ".pd.damping", drive.damping, "damping", &log_);
        if (ok && drive.stiffness == 0 && drive.damping == 0) {
          log_.Error(at + ".pd", "has neither stiffness nor damping; expected one above zero");
          ok = false;
        }
        break;
      case v1::Actuator::kTorque:
        drive.kind = Actuator::Kind::kEffort;
        break;
      case v1::Actuator::kVelocity:
        drive.kind = Actuator::Kind::kVelocity;
        drive.damping = a.velocity().damping();
        ok &= CheckPositive(at + ".velocity.damping", drive.damping, "damping", &log_);
        break;
      case v1::Actuator::KIND_NOT_SET:
        log_.Error(at, "has no kind; expected `pd`, `torque` or `velocity`");
        ok = false;
    }
    ok &= ReadGainLimits(a, at, &log_, &drive);
    const std::vector<int> matching = MatchJoints(robot, a.joint(), at + ".joint");
    if (!ok) continue;
    for (const int j : matching) {
      drive.effort_limit = a.has_effort_limit() ? a.effort_limit() : joints[j].effort_limit;
      drives[j] = drive;
    }
  }
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (drives[j].has_value()) AddActuator(robot, static_cast<int>(j), *drives[j]);
  }
}

int SceneCompiler::AddActuator(int robot, int joint, Actuator drive) {
  const RobotJoint& moved = model_->robots[robot].joints[joint];
  drive.robot = robot;
  drive.joint = joint;
  drive.name = absl::StrCat(model_->robots[robot].name, "/", moved.name);
  if (drive.kind == Actuator::Kind::kPosition) {
    const RobotDraft& draft = robots_[robot_placements_[robot].draft];
    drive.initial_target = draft.position[moved.body - model_->robots[robot].bodies.front()];
  }
  model_->actuators.push_back(std::move(drive));
  return static_cast<int>(model_->actuators.size()) - 1;
}

int SceneCompiler::FindDrive(int robot, int joint) const {
  for (std::size_t i = 0; i < model_->actuators.size(); ++i) {
    if (model_->actuators[i].robot == robot && model_->actuators[i].joint == joint)
      return static_cast<int>(i);
  }
  return -1;
}

void SceneCompiler::CompileControllers(int robot, const v1::Robot& given, const std::string& path) {
  absl::flat_hash_map<std::string, int> names;
  for (int i = 0; i < given.controllers_size(); ++i) {
    const v1::Controller& c = given.controllers(i);
    const std::string at = absl::StrCat(path, ".controllers[", i, "]");
    if (!CheckName(at + ".name", c.name(), &log_)) continue;
    if (!names.try_emplace(c.name(), i).second) {
      log_.Error(
          at + ".name",
          absl::StrCat(
              Quoted(c.name()),
              " is also the name of another controller of the robot; expected a unique name"));
      continue;
    }
    Controller controller;
    controller.name = absl::StrCat(model_->robots[robot].name, "/", c.name());
    controller.robot = robot;
    switch (c.kind_case()) {
      case v1::Controller::kDifferentialIk:
        if (!ReadDifferentialIk(c.differential_ik(), at + ".differential_ik", &controller))
          continue;
        break;
      case v1::Controller::kGripper:
        if (!ReadGripper(c.gripper(), at + ".gripper", &controller)) continue;
        break;
      case v1::Controller::KIND_NOT_SET:
        log_.Error(at, "has no kind; expected `differential_ik` or `gripper`");
        continue;
    }
    model_->controllers.push_back(std::move(controller));
  }
}

bool SceneCompiler::ReadDifferentialIk(const v1::DifferentialIk& given, const std::string& path,
                                       Controller* controller) {
  const Robot& robot = model_->robots[controller->robot];
  controller->kind = Controller::Kind::kDifferentialIk;
  bool ok = true;
  if (given.has_damping()) {
    ok &= CheckPositive(path + ".damping", given.damping(), "number", &log_, 10);
    controller->damping = given.damping();
  }
  if (given.has_posture_gain()) {
    ok &= CheckNotNegative(path + ".posture_gain", given.posture_gain(), "rate in 1/s", &log_, 1e3);
    controller->posture_gain = given.posture_gain();
  }
  if (given.has_position_gain()) {
    ok &= CheckPositive(path + ".position_gain", given.position_gain(), "rate in 1/s", &log_, 1e3);
    controller->position_gain = given.position_gain();
  }
  controller->body = ResolveBody(
      given.link().empty() ? "" : absl::StrCat(robot.name, "/", given.link()), path + ".link");
  if (controller->body < 0 || !ok) return false;

  // actuators between the base and the link
  const RobotDescription& description =
      *robots_[robot_placements_[controller->robot].draft].description;
  std::vector<int> bodies;
  for (int link = controller->body - robot.bodies.front(); link >= 0;
       link = description.links[link].parent)
    bodies.push_back(robot.bodies[link]);
  for (std::size_t i = 0; i < model_->actuators.size(); ++i) {
    const Actuator& actuator = model_->actuators[i];
    if (actuator.robot != controller->robot || actuator.kind != Actuator::Kind::kPosition) continue;
    if (std::find(bodies.begin(), bodies.end(), model_->joint_of(actuator).body) == bodies.end())
      continue;
    controller->actuators.push_back(static_cast<int>(i));
    controller->posture.push_back(actuator.initial_target);
  }
  if (!controller->actuators.empty()) return true;
  log_.Error(path + ".link",
             absl::StrCat("no PD actuator lies between the base and ", Quoted(given.link()),
                          ". Add `actuators` with `pd` for its joints"));
  return false;
}

bool SceneCompiler::ReadGripper(const v1::Gripper& given, const std::string& path,
                                Controller* controller) {
  controller->kind = Controller::Kind::kGripper;
  if (!CheckPositive(path + ".max_force", given.max_force(), "force in N (or N·m)", &log_))
    return false;
  if (given.joints().empty()) return Missing(path + ".joints", "a list of joints", &log_);
  for (int k = 0; k < given.joints_size(); ++k) {
    for (const int j :
         MatchJoints(controller->robot, given.joints(k), absl::StrCat(path, ".joints[", k, "]"))) {
      int drive = FindDrive(controller->robot, j);
      if (drive < 0) {
        Actuator actuator;
        actuator.kind = Actuator::Kind::kPosition;
        actuator.stiffness = given.max_force() / kGripperSlack;
        actuator.damping = actuator.stiffness * kGripperSettling;
        actuator.max_stiffness = actuator.stiffness;
        actuator.max_damping = actuator.damping;
        drive = AddActuator(controller->robot, j, actuator);
      }
      model_->actuators[drive].effort_limit = given.max_force();
      controller->actuators.push_back(drive);
    }
  }
  return !controller->actuators.empty();
}

void SceneCompiler::ReadDriveLimits(const v1::DriveLimits& given, const std::string& path,
                                    DriveLimits* limits) {
  const auto read = [&](const char* field, bool has, double value, const char* noun, double* to) {
    if (has && CheckPositive(absl::StrCat(path, ".", field), value, noun, &log_, 1e9)) *to = value;
  };
  read("speed", given.has_speed(), given.speed(), "speed in m/s", &limits->speed);
  read("acceleration", given.has_acceleration(), given.acceleration(), "acceleration in m/s²",
       &limits->acceleration);
  read("spin", given.has_spin(), given.spin(), "rate in rad/s", &limits->spin);
  read("spin_acceleration", given.has_spin_acceleration(), given.spin_acceleration(),
       "acceleration in rad/s²", &limits->spin_acceleration);
  read("force", given.has_force(), given.force(), "force in N", &limits->force);
  read("torque", given.has_torque(), given.torque(), "torque in N·m", &limits->torque);
  ReadVector(path + ".lower", given.lower(), "position in metres", kMaxLength, &log_,
             &limits->lower);
  ReadVector(path + ".upper", given.upper(), "position in metres", kMaxLength, &log_,
             &limits->upper);
  if (!(limits->lower.array() <= limits->upper.array()).all()) {
    log_.Error(path + ".upper",
               "is below `lower`; expected opposite corners of a box, the one with "
               "the larger coordinates here");
  }
}

void SceneCompiler::CompileTeleoperation(int robot, const v1::Teleoperation& given,
                                         const std::string& path) {
  Teleoperation& teleop = model_->robots[robot].teleop;
  if (given.fallback() == v1::Teleoperation::FALLBACK_HOLD)
    teleop.fallback = Teleoperation::Fallback::kHold;
  ReadDriveLimits(given.limits(), path + ".limits", &teleop.limits);
  const auto read = [&](const char* field, bool has, double value, const char* noun, double* to) {
    if (has && CheckPositive(absl::StrCat(path, ".", field), value, noun, &log_, 1e6)) *to = value;
  };
  read("joint_speed", given.has_joint_speed(), given.joint_speed(), "speed in m/s",
       &teleop.limits.joint_speed);
  read("joint_spin", given.has_joint_spin(), given.joint_spin(), "rate in rad/s",
       &teleop.limits.joint_spin);
  read("joint_ramp", given.has_joint_ramp(), given.joint_ramp(), "time in s",
       &teleop.limits.joint_ramp);
  CompileActuatorGroups(robot, given, path + ".groups");
  CompileGamepad(robot, given, path + ".gamepad");
}

void SceneCompiler::CompileActuatorGroups(int robot, const v1::Teleoperation& given,
                                          const std::string& path) {
  Robot& model = model_->robots[robot];
  absl::flat_hash_map<int, std::string> group_of;  // by actuator
  for (int i = 0; i < given.groups_size(); ++i) {
    const std::string at = absl::StrCat(path, "[", i, "]");
    if (!CheckName(at + ".name", given.groups(i).name(), &log_)) continue;
    Teleoperation::Group group;
    group.name = given.groups(i).name();
    for (const Teleoperation::Group& other : model.teleop.groups) {
      if (other.name != group.name) continue;
      log_.Error(at + ".name", absl::StrCat(Quoted(group.name),
                                            " is also the name of another group of the robot; "
                                            "expected a unique name"));
    }
    if (given.groups(i).joints().empty()) Missing(at + ".joints", "a list of joints", &log_);
    for (int k = 0; k < given.groups(i).joints_size(); ++k) {
      const std::string where = absl::StrCat(at, ".joints[", k, "]");
      for (const int joint : MatchJoints(robot, given.groups(i).joints(k), where)) {
        const int actuator = FindDrive(robot, joint);
        if (actuator < 0) continue;  // a pattern may match joints that nothing drives
        const auto [other, is_new] = group_of.try_emplace(actuator, group.name);
        if (is_new) {
          group.actuators.push_back(actuator);
        } else if (other->second != group.name) {
          log_.Error(where, absl::StrCat(Quoted(model.joints[joint].name), " is in the group ",
                                         Quoted(other->second),
                                         ", too; expected each joint in one group"));
        }
      }
    }
    if (group.actuators.empty()) {
      log_.Error(at + ".joints",
                 "match no joint with an actuator; expected at least one. Add "
                 "`actuators` for them, or remove the group");
    }
    std::ranges::sort(group.actuators);
    model.teleop.groups.push_back(std::move(group));
  }
}

void SceneCompiler::CompileGamepad(int robot, const v1::Teleoperation& given,
                                   const std::string& path) {
  constexpr int kMaxControls = 64;
  constexpr int kButtons = 17;
  const v1::GamepadProfile& gamepad = given.gamepad();
  Teleoperation& teleop = model_->robots[robot].teleop;
  if (gamepad.has_dead_zone() &&
      CheckNotNegative(path + ".dead_zone", gamepad.dead_zone(), "number", &log_, 0.9))
    teleop.dead_zone = gamepad.dead_zone();
  if (gamepad.has_hold()) {
    teleop.hold_button = gamepad.hold();
    if (gamepad.hold() < 0 || gamepad.hold() >= kButtons) {
      log_.Error(path + ".hold",
                 absl::StrCat(gamepad.hold(), " is no button; expected 0 to ", kButtons - 1));
    }
  }
  if (gamepad.controls_size() > kMaxControls) {
    log_.Error(
        path + ".controls",
        absl::StrCat(gamepad.controls_size(), " are not allowed; expected at most ", kMaxControls));
    return;
  }
  for (int i = 0; i < gamepad.controls_size(); ++i) {
    Teleoperation::GamepadControl control;
    if (ReadGamepadControl(robot, gamepad.controls(i), absl::StrCat(path, ".controls[", i, "]"),
                           &control))
      teleop.gamepad.push_back(std::move(control));
  }
}

bool SceneCompiler::ReadGamepadControl(int robot, const v1::GamepadControl& given,
                                       const std::string& path,
                                       Teleoperation::GamepadControl* control) {
  const bool is_axis = given.control_case() == v1::GamepadControl::kAxis;
  const int number = is_axis ? given.axis() : given.button(), last = is_axis ? 3 : 16;
  if (given.control_case() == v1::GamepadControl::CONTROL_NOT_SET)
    return Missing(path, "`axis` or `button`", &log_);
  if (number < 0 || number > last) {
    log_.Error(path + (is_axis ? ".axis" : ".button"),
               absl::StrCat(number, " is not allowed; expected 0 to ", last));
    return false;
  }
  (is_axis ? control->axis : control->button) = number;

  const auto find = [&](const std::string& name, Controller::Kind kind, const char* field) {
    const int found = FindController(*model_, absl::StrCat(model_->robots[robot].name, "/", name));
    if (found >= 0 && model_->controllers[found].kind == kind) return found;
    log_.Error(absl::StrCat(path, ".", field),
               absl::StrCat(Quoted(name), " is no ",
                            kind == Controller::Kind::kGripper ? "gripper" : "differential_ik",
                            " controller of the robot; expected the name of one"));
    return -1;
  };
  const bool is_tool = given.target_case() == v1::GamepadControl::kTool;
  switch (given.target_case()) {
    case v1::GamepadControl::kTool:
      control->controller = find(given.tool(), Controller::Kind::kDifferentialIk, "tool");
      if (control->controller < 0) return false;
      break;
    case v1::GamepadControl::kGripper: {
      const int gripper = find(given.gripper(), Controller::Kind::kGripper, "gripper");
      if (gripper < 0) return false;
      control->actuators = model_->controllers[gripper].actuators;
      break;
    }
    case v1::GamepadControl::kJoint:
      for (const int joint : MatchJoints(robot, given.joint(), path + ".joint")) {
        const int drive = FindDrive(robot, joint);
        if (drive >= 0 && model_->actuators[drive].kind != Actuator::Kind::kEffort)
          control->actuators.push_back(drive);
      }
      if (control->actuators.empty()) {
        log_.Error(path + ".joint",
                   "matches no joint with a PD or velocity actuator; expected at least one");
        return false;
      }
      break;
    case v1::GamepadControl::TARGET_NOT_SET:
      return Missing(path, "`tool`, `gripper` or `joint`", &log_);
  }
  if (is_tool != (given.twist_size() == 6) || is_tool == (given.rate() != 0)) {
    log_.Error(path,
               "does not say how fast to move; expected `twist` with 6 numbers for a tool, and "
               "a `rate` other than 0 for a gripper or joint");
    return false;
  }
  if (!is_tool) control->rate = given.rate();
  for (int i = 0; is_tool && i < 3; ++i) {
    control->angular_W[i] = given.twist(i);
    control->linear_W[i] = given.twist(3 + i);
  }
  return true;
}

void SceneCompiler::CompileConstraints() {
  if (log_.failed()) return;
  absl::flat_hash_map<std::string, int> names;
  for (int i = 0; i < scene_.constraints_size(); ++i) {
    const v1::Constraint& given = scene_.constraints(i);
    const std::string path = absl::StrCat("constraints[", i, "]");
    if (!CheckName(path + ".name", given.name(), &log_)) continue;
    if (!names.try_emplace(given.name(), i).second) {
      log_.Error(
          path + ".name",
          absl::StrCat(Quoted(given.name()),
                       " is also the name of an earlier constraint; expected a unique name"));
      continue;
    }
    Constraint constraint;
    constraint.name = given.name();
    bool ok = true;
    if (given.has_stiffness()) {
      ok &= CheckPositive(path + ".stiffness", given.stiffness(), "stiffness in N/m", &log_);
      constraint.stiffness = given.stiffness();
    }
    if (given.has_damping()) {
      ok &= CheckNotNegative(path + ".damping", given.damping(), "damping in N·s/m", &log_);
      constraint.damping = given.damping();
    }
    if (given.has_volume() && (given.has_stiffness() || given.has_damping())) {
      log_.Error(path + (given.has_stiffness() ? ".stiffness" : ".damping"),
                 "does not apply to `volume`, whose law gives the pressure. Remove it");
      ok = false;
    }
    if (ReadConstraint(given, path, &constraint) && ok)
      model_->constraints.push_back(std::move(constraint));
  }
  has_constraints_ = !log_.failed();
}

// Finds a rigid body, a link or the world (−1), and its initial pose.
bool SceneCompiler::ResolveHeld(const std::string& name, const std::string& path, int* body,
                                RigidTransform* X_WB) {
  *body = -1;
  *X_WB = RigidTransform();
  if (name == "world") return true;
  *body = ResolveBody(name, path);
  if (*body < 0) return false;
  if (IsDeformable(*body)) {
    log_.Error(path, absl::StrCat(Quoted(name),
                                  " is deformable; expected a rigid body, a link or world. "
                                  "Hold parts of it by its `attachments`"));
    return false;
  }
  *X_WB = model_->bodies[*body].X_WB;
  return true;
}

bool SceneCompiler::ReadConstraint(const v1::Constraint& given, const std::string& path,
                                   Constraint* constraint) {
  RigidTransform X_WA, X_WB;
  const auto hold = [&](const std::string& kind, const std::string& a, const std::string& b) {
    const bool ok = ResolveHeld(a, absl::StrCat(path, ".", kind, ".a"), &constraint->body_a, &X_WA);
    if (!ResolveHeld(b, absl::StrCat(path, ".", kind, ".b"), &constraint->body_b, &X_WB) || !ok)
      return false;
    if (constraint->body_a != constraint->body_b) return true;
    log_.Error(absl::StrCat(path, ".", kind, ".b"),
               absl::StrCat(Quoted(b), " is named twice; expected two different bodies"));
    return false;
  };
  const auto join = [&](const std::string& name, const std::string& at, double factor) {
    int robot = -1, joint = -1;
    if (!ResolveJoint(name, at, &robot, &joint)) return false;
    constraint->joints.push_back({robot, joint, factor});
    return true;
  };
  switch (given.kind_case()) {
    case v1::Constraint::kWeld:
      constraint->kind = Constraint::Kind::kWeld;
      if (!hold("weld", given.weld().a(), given.weld().b())) return false;
      constraint->X_AF = X_WA.Inverse() * X_WB;
      return true;
    case v1::Constraint::kBall: {
      constraint->kind = Constraint::Kind::kBall;
      if (!hold("ball", given.ball().a(), given.ball().b())) return false;
      Eigen::Vector3d p_W = X_WB.p;
      if (!ReadVector(path + ".ball.point", given.ball().point(), "position in metres", kMaxLength,
                      &log_, &p_W))
        return false;
      constraint->X_AF.p = X_WA.Inverse() * p_W;
      constraint->X_BG.p = X_WB.Inverse() * p_W;
      return true;
    }
    case v1::Constraint::kDistance: {
      const v1::DistanceConstraint& d = given.distance();
      constraint->kind = Constraint::Kind::kDistance;
      if (!hold("distance", d.a(), d.b())) return false;
      if (!ReadVector(path + ".distance.point_a", d.point_a(), "position in metres", kMaxLength,
                      &log_, &constraint->X_AF.p) ||
          !ReadVector(path + ".distance.point_b", d.point_b(), "position in metres", kMaxLength,
                      &log_, &constraint->X_BG.p))
        return false;
      constraint->length =
          std::sqrt((X_WB * constraint->X_BG.p - X_WA * constraint->X_AF.p).squaredNorm());
      if (!d.has_length()) return true;
      constraint->length = d.length();
      return CheckPositive(path + ".distance.length", d.length(), "length in metres", &log_);
    }
    case v1::Constraint::kCoupler: {
      const v1::CouplerConstraint& c = given.coupler();
      constraint->kind = Constraint::Kind::kCoupler;
      constraint->offset = c.offset();
      return join(c.a(), path + ".coupler.a", 1) &&
             join(c.b(), path + ".coupler.b", c.has_ratio() ? -c.ratio() : -1);
    }
    case v1::Constraint::kJointSpring: {
      const v1::JointSpring& s = given.joint_spring();
      constraint->kind = Constraint::Kind::kJointSpring;
      constraint->stiffness = s.stiffness();
      constraint->damping = s.damping();
      constraint->offset = s.rest();
      if (given.has_stiffness() || given.has_damping()) {
        log_.Error(path + (given.has_stiffness() ? ".stiffness" : ".damping"),
                   "conflicts with that of `joint_spring`; keep the one in `joint_spring`");
        return false;
      }
      return CheckNotNegative(path + ".joint_spring.stiffness", s.stiffness(), "stiffness",
                              &log_) &&
             CheckNotNegative(path + ".joint_spring.damping", s.damping(), "damping", &log_) &&
             (s.stiffness() > 0 || s.damping() > 0 ||
              Missing(path + ".joint_spring.stiffness", "a stiffness or a damping", &log_)) &&
             join(s.joint(), path + ".joint_spring.joint", 1);
    }
    case v1::Constraint::kVolume: {
      const auto found = volume_of_constraint_.find(path);
      if (found == volume_of_constraint_.end()) return false;  // reported before
      constraint->kind = Constraint::Kind::kVolume;
      std::tie(constraint->body_a, constraint->volume) = found->second;
      return true;
    }
    case v1::Constraint::KIND_NOT_SET:
      log_.Error(path,
                 "has no kind; expected weld, ball, distance, coupler, joint_spring or volume");
  }
  return false;
}

bool SceneCompiler::ResolveJoint(const std::string& name, const std::string& path, int* robot,
                                 int* joint) {
  if (!has_robots_) return false;
  return FindJoint(joint_index_, *model_, name, path, &log_, robot, joint);
}

bool FindVolumeConstraint(const Model& model, const std::string& name, const std::string& path,
                          SceneLog* log, int* constraint) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.constraints.size(); ++i) {
    if (model.constraints[i].kind != Constraint::Kind::kVolume) continue;
    names.push_back(model.constraints[i].name);
    if (names.back() != name) continue;
    *constraint = static_cast<int>(i);
    return true;
  }
  log->Error(path, absl::StrCat("no volume constraint is called ", Quoted(name),
                                names.empty() ? "; add one to `constraints`" : "",
                                DidYouMean(name, names)));
  return false;
}

bool FindJoint(const JointIndex& joints, const Model& model, const std::string& name,
               const std::string& path, SceneLog* log, int* robot, int* joint) {
  if (name.empty()) return Missing(path, "the name of a joint: robot/joint", log);
  if (const auto found = joints.find(name); found != joints.end()) {
    *robot = found->second.first;
    *joint = found->second.second;
    if (model.robots[*robot].joints[*joint].num_velocities == 1) return true;
    log->Error(path, absl::StrCat(Quoted(name), " has ",
                                  model.robots[*robot].joints[*joint].num_velocities,
                                  " degrees of freedom; expected a joint with one"));
    return false;
  }
  std::vector<std::string> names;
  for (const auto& [known, place] : joints) names.push_back(known);
  std::sort(names.begin(), names.end());
  log->Error(path, absl::StrCat("no joint is called ", Quoted(name), "; expected robot/joint",
                                DidYouMean(name, names)));
  return false;
}

}  // namespace pliant::physics
