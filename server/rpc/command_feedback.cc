#include "server/rpc/command_feedback.h"

#include <string>
#include <utility>
#include <vector>

#include <Eigen/Geometry>

#include "physics/world/probes.h"

namespace pliant::server {
namespace {

constexpr std::chrono::milliseconds kInterval{10};

// Contact wrench on a commanded target: a body, about its origin, or all links of a robot, about
// the origin of the first one.
physics::ContactWrench CalcTargetWrench(const physics::Snapshot& snapshot,
                                        const std::string& target) {
  const physics::Model& model = *snapshot.model;
  std::vector<int> bodies;
  for (const physics::Robot& robot : model.robots) {
    if (robot.name == target) bodies = robot.bodies;
  }
  if (bodies.empty()) bodies = {physics::FindBody(model, target)};

  std::vector<bool> touched(model.bodies.size(), false);
  for (const physics::ContactForce& contact : snapshot.report.contacts)
    touched[contact.body_a] = touched[contact.body_b] = true;
  physics::ContactWrench total;
  const Eigen::Vector3d p_WO = physics::CalcBodyPose(model, snapshot.state, bodies.front()).p;
  for (const int body : bodies) {
    if (!touched[body]) continue;
    const physics::ContactWrench wrench = physics::CalcContactWrench(
        model, snapshot.state, snapshot.report, body, -1, model.time_step);
    const Eigen::Vector3d p_WBcm =
        physics::CalcBodyPose(model, snapshot.state, body) * model.bodies[body].p_BoBcm;
    total.force += wrench.force;
    total.torque += wrench.torque + (p_WBcm - p_WO).cross(wrench.force);
    total.contacts += wrench.contacts;
  }
  return total;
}

}  // namespace

CommandFeedback::CommandFeedback(Handlers* handlers,
                                 std::function<void(const v1::CommandResponse&)> send)
    : handlers_(handlers), send_(std::move(send)) {}

void CommandFeedback::Open() {
  handlers_->pump().Add(shared_from_this());
}

void CommandFeedback::Follow(const v1::CommandRequest& command, const v1::CommandResponse& taken) {
  auto host = handlers_->FindWorld(command.world());
  if (!host.ok()) return;
  {
    std::lock_guard lock(mutex_);
    host_ = *std::move(host);
    lease_id_ = command.lease_id();
    last_ = taken;
    pending_ = true;
  }
  handlers_->pump().Wake();
}

void CommandFeedback::Ready() {
  {
    std::lock_guard lock(mutex_);
    ready_ = true;
  }
  handlers_->pump().Wake();
}

void CommandFeedback::Close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  handlers_->pump().Remove(shared_from_this());
}

SteadyTime CommandFeedback::Visit(SteadyTime now) {
  constexpr SteadyTime kNever = SteadyTime::max();
  std::lock_guard lock(mutex_);
  if (closed_ || !ready_ || host_ == nullptr) return kNever;
  const std::shared_ptr<const Published> published = host_->latest();
  if (published->version == sent_version_ && !pending_) return kNever;
  if (now < next_due_) return next_due_;

  // once the lease has ended there is nothing more to send
  const CommandEcho* echo = nullptr;
  for (const CommandEcho& candidate : published->control.commands) {
    if (candidate.lease_id == lease_id_) echo = &candidate;
  }
  if (echo == nullptr && !pending_) return kNever;

  v1::CommandResponse response = last_;
  if (echo != nullptr && echo->sequence != 0) {
    response.set_sequence(echo->sequence);
    response.set_applied_step(echo->applied_step);
    response.set_client_time(echo->client_time);
    const physics::ContactWrench wrench = CalcTargetWrench(*published->snapshot, echo->target);
    for (int i = 0; i < 3; ++i) {
      response.add_force(wrench.force[i]);
      response.add_torque(wrench.torque[i]);
    }
  }
  ready_ = false;
  pending_ = false;
  sent_version_ = published->version;
  next_due_ = now + kInterval;
  send_(response);
  return kNever;
}

}  // namespace pliant::server
