// Reads commands as clients send them: the first byte chooses the target, the rest is a
// CommandRequest. Accepted goals are finite and within the limits of the scene.
//
// With libFuzzer: build/libfuzzer/bin/command_fuzz tests/fuzz/control/corpus. Otherwise
// tests/fuzz/mutations.cc calls it.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <variant>

#include "google/protobuf/stubs/logging.h"

#include "physics/dynamics/abilities/nodes.h"
#include "server/control/read_command.h"

namespace pliant::fuzz {
namespace {

using physics::Actuator;
using physics::Body;
using physics::Model;
using physics::Motion;
using physics::RobotJoint;
using server::Goals;

constexpr double kSpeed = 0.5, kForce = 30;  // limits of everything

void Demand(bool condition) {
  if (!condition) std::abort();
}

// The vertices of the soft body.
class FourNodes final : public physics::NodeSet {
 public:
  int num_nodes() const override { return 4; }
  Eigen::Vector3d CalcPointVelocity(const physics::BlockState& /*state*/,
                                    const physics::Attachment& /*point*/) const override {
    return Eigen::Vector3d::Zero();
  }
  Eigen::Vector3d CalcAngularVelocity(const physics::BlockState& /*state*/,
                                      int /*part*/) const override {
    return Eigen::Vector3d::Zero();
  }
};

Body MakeBody(const char* name, Motion motion, int block) {
  Body body;
  body.name = name;
  body.motion = motion;
  body.block = block;
  body.mass = 2;
  body.drive.force = body.drive.torque = kForce;
  return body;
}

void AddJoint(const char* name, RobotJoint::Kind kind, Actuator::Kind drive, Model* model) {
  RobotJoint joint;
  joint.name = name;
  joint.kind = kind;
  joint.lower = -1;
  joint.upper = joint.velocity_limit = 1;
  model->robots[0].joints.push_back(joint);
  Actuator actuator;
  actuator.name = std::string("arm/") + name;
  actuator.joint = static_cast<int>(model->robots[0].joints.size()) - 1;
  actuator.kind = drive;
  actuator.effort_limit = kForce;
  actuator.max_stiffness = actuator.max_damping = 100;
  model->actuators.push_back(actuator);
}

// A body of each kind and a robot with each kind of actuator, a tool, a gripper, two groups and a
// gamepad. CommandReader needs nothing else of a model, so it has no blocks.
std::unique_ptr<Model> MakeModel() {
  static const FourNodes nodes;
  auto model = std::make_unique<Model>();
  model->abilities.resize(2);
  model->abilities[1].nodes = &nodes;
  model->bodies = {MakeBody("paddle", Motion::kKinematic, 0), MakeBody("cube", Motion::kFree, 0),
                   MakeBody("ball", Motion::kFree, 1), MakeBody("arm/hand", Motion::kFree, 0)};
  physics::Robot& robot = model->robots.emplace_back();
  robot.name = "arm";
  robot.bodies = {3};
  AddJoint("x", RobotJoint::Kind::kPrismatic, Actuator::Kind::kPosition, model.get());
  AddJoint("spin", RobotJoint::Kind::kRevolute, Actuator::Kind::kVelocity, model.get());
  AddJoint("motor", RobotJoint::Kind::kRevolute, Actuator::Kind::kEffort, model.get());
  AddJoint("jaw", RobotJoint::Kind::kPrismatic, Actuator::Kind::kPosition, model.get());
  model->controllers.resize(2);
  model->controllers[0].name = "arm/tool";
  model->controllers[0].actuators = {0};
  model->controllers[1].name = "arm/jaws";
  model->controllers[1].kind = physics::Controller::Kind::kGripper;
  model->controllers[1].actuators = {3};
  robot.teleop.limits.force = robot.teleop.limits.torque = kForce;
  robot.teleop.groups = {{"body", {0, 1, 2}}, {"hand", {3}}};
  robot.teleop.gamepad.resize(2);
  robot.teleop.gamepad[0].axis = 0;
  robot.teleop.gamepad[0].controller = 0;
  robot.teleop.gamepad[0].linear_W.x() = kSpeed;
  robot.teleop.gamepad[1].button = 2;
  robot.teleop.gamepad[1].actuators = {3};
  robot.teleop.gamepad[1].rate = kSpeed;
  return model;
}

void CheckPull(const server::Pull& pull) {
  constexpr double kLimit = kForce * (1 + 1e-12);
  if (const auto* force = std::get_if<physics::Inputs::AppliedForce>(&pull)) {
    Demand(force->force_W.norm() <= kLimit && force->torque_W.norm() <= kLimit);
    Demand(force->p_BP.allFinite() && force->node < 4);
    return;
  }
  const auto& spring = std::get<physics::Inputs::PointSpring>(pull);
  Demand(spring.p_BP.allFinite() && spring.p_WA.allFinite() && spring.node < 4);
  Demand(spring.stiffness >= 0 && spring.damping >= 0 && spring.stiffness + spring.damping > 0);
  Demand(std::isfinite(spring.stiffness + spring.damping));
  Demand(spring.force_limit > 0 && spring.force_limit <= kLimit);
}

void CheckDriveGoal(const server::DriveGoal& goal) {
  if (const auto* twist = std::get_if<server::TwistGoal>(&goal)) {
    Demand(twist->linear.allFinite() && twist->angular.allFinite());
    return;
  }
  const auto& pose = std::get<server::PoseGoal>(goal);
  Demand(pose.position.allFinite() && std::abs(pose.orientation.norm() - 1) < 1e-6);
}

void Check(const Goals& goals) {
  if (goals.body) CheckDriveGoal(*goals.body);
  if (goals.pull) CheckPull(*goals.pull);
  for (const server::ToolGoal& tool : goals.tools) CheckDriveGoal(tool.goal);
  for (const server::JointGoal& joint : goals.joints)
    Demand(std::abs(joint.value) <= (joint.actuator == 2 ? kForce : 1));
  for (const server::JogGoal& jog : goals.jogs) Demand(std::abs(jog.rate) <= kSpeed);
  for (const server::GainGoal& gains : goals.gains) {
    for (const auto& gain : {gains.stiffness, gains.damping})
      Demand(!gain || (*gain >= 0 && *gain <= 100));
    Demand(!gains.effort_limit || (*gains.effort_limit >= 0 && *gains.effort_limit <= kForce));
  }
}

}  // namespace
}  // namespace pliant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto model = pliant::fuzz::MakeModel();
  static const pliant::server::Targets targets(*model);
  static const pliant::server::CommandReader reader(*model);
  // protobuf would print a line for each name that is no UTF-8
  static const google::protobuf::LogSilencer silence;
  pliant::v1::CommandRequest command;
  if (size == 0 || !command.ParseFromArray(data + 1, static_cast<int>(size) - 1)) return 0;
  const auto& all = targets.all();
  const auto goals = reader.Read(all[data[0] % all.size()], command);
  if (goals.ok()) {
    pliant::fuzz::Check(*goals);
  } else {
    pliant::fuzz::Demand(!goals.status().message().empty());
  }
  return 0;
}
