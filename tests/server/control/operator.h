#pragma once

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "physics/world/world.h"
#include "server/control/world_control.h"
#include "tests/server/host/robot_scene.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {

// A world with its control, in time that the test sets; commands are sent under leases.
class ControlledWorld {
 public:
  explicit ControlledWorld(std::shared_ptr<const physics::Model> model)
      : model_(std::move(model)), world_(model_), control_(model_) {}

  // Id of a lease; empty, and a failure of the test, if it is refused.
  std::string Acquire(const std::string& target, const std::string& client = "alice") {
    v1::AcquireLeaseRequest request;
    request.set_target(target);
    request.set_client(client);
    const auto lease = control_.Acquire(request, now_);
    EXPECT_TRUE(lease.ok()) << lease.status();
    return lease.ok() ? lease->lease_id() : "";
  }
  absl::Status Send(const std::string& lease, v1::CommandRequest command) {
    command.set_lease_id(lease);
    command.set_sequence(++sequence_);
    return control_.Submit(command, now_).status();
  }
  // Advances by steps of 10 ms.
  void Step(int steps = 1) {
    for (int i = 0; i < steps; ++i) {
      inputs_ = control_.Advance(world_.state(), now_);
      const absl::Status status = world_.Step(inputs_);
      ASSERT_TRUE(status.ok()) << status;
      now_ += std::chrono::milliseconds(10);
    }
  }
  // Steps while repeating a command.
  void Repeat(int steps, const std::string& lease, const v1::CommandRequest& command) {
    for (int i = 0; i < steps; ++i) {
      const absl::Status status = Send(lease, command);
      ASSERT_TRUE(status.ok()) << status;
      Step();
    }
  }

  int actuator(const std::string& name) const { return physics::FindActuator(*model_, name); }
  int body(const std::string& name) const { return physics::FindBody(*model_, name); }
  double target(const std::string& name) const { return world_.state().controls[actuator(name)]; }
  double position(const std::string& name) const {
    const physics::RobotJoint& joint = model_->joint_of(model_->actuators[actuator(name)]);
    return model_->Positions(world_.state(), joint.block)[joint.position];
  }
  double rate(const std::string& name) const {
    const physics::RobotJoint& joint = model_->joint_of(model_->actuators[actuator(name)]);
    return model_->Velocities(world_.state(), joint.block)[joint.velocity];
  }
  Eigen::Vector3d place(const std::string& name) const {
    return physics::CalcBodyPose(*model_, world_.state(), body(name)).p;
  }
  physics::Gains gains(const std::string& name) const {
    return physics::GainsOf(*model_, world_.state().gains, actuator(name));
  }

  const physics::Model& model() const { return *model_; }
  physics::World& world() { return world_; }
  WorldControl& control() { return control_; }
  const physics::Inputs& inputs() const { return inputs_; }  // of the last step
  SteadyTime now() const { return now_; }
  void Wait(std::chrono::milliseconds time) { now_ += time; }

 private:
  const std::shared_ptr<const physics::Model> model_;
  physics::World world_;
  WorldControl control_;
  physics::Inputs inputs_;
  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  std::uint64_t sequence_ = 0;
};

}  // namespace pliant::server
