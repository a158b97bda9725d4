#include "server/service/command_feedback.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <Eigen/Geometry>

#include "physics/world/probes.h"
#include "server/service/methods.h"

namespace pliant::server {
namespace {

constexpr std::chrono::milliseconds kInterval{10};

// Contact wrench on a commanded target: a body, about its origin, or all links of a robot or those
// that the joints of a group move, about the origin of the first one.
physics::ContactWrench CalcTargetWrench(const physics::Snapshot& snapshot,
                                        const std::string& target) {
  const physics::Model& model = *snapshot.model;
  std::vector<int> bodies;
  for (const physics::Robot& robot : model.robots) {
    if (robot.name == target) bodies = robot.bodies;
    for (const physics::Teleoperation::Group& group : robot.teleop.groups) {
      if (absl::StrCat(robot.name, "/", group.name) != target) continue;
      for (const int actuator : group.actuators)
        bodies.push_back(model.joint_of(model.actuators[actuator]).body);
    }
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

CommandFeedback::CommandFeedback(Handlers* handlers, Call call,
                                 std::function<void(const v1::CommandResponse&)> send)
    : handlers_(handlers), call_(std::move(call)), send_(std::move(send)) {}

void CommandFeedback::Open() {
  handlers_->feedback_pool().Add(shared_from_this());
}

std::optional<v1::CommandResponse> CommandFeedback::Submit(const v1::CommandRequest& command) {
  {
    std::lock_guard lock(mutex_);
    if (leases_.size() >= kMaxLeases && !leases_.contains(command.lease_id())) DropEndedLeases();
    if (leases_.size() >= kMaxLeases && !leases_.contains(command.lease_id())) {
      // one more would hide the answers to another
      v1::CommandResponse refused;
      refused.set_lease_id(command.lease_id());
      refused.set_sequence(command.sequence());
      refused.set_client_time(command.client_time());
      refused.set_refused(absl::StrCat("this stream has commands of ", kMaxLeases,
                                       " leases; release one, or open another stream"));
      return refused;
    }
  }
  v1::CommandResponse taken = handlers_->Command(call_, command);
  if (!taken.refused().empty()) return taken;
  const absl::StatusOr<Call> admitted = Admit(*handlers_, call_, kCommandMethod);
  if (!admitted.ok()) return std::nullopt;
  auto host = handlers_->FindWorld(*admitted, command.world());
  if (!host.ok()) return std::nullopt;  // deleted since: its lease has ended, too
  (*host)->Listen(weak_from_this());
  {
    std::lock_guard lock(mutex_);
    Lease& lease = leases_[command.lease_id()];
    lease.host = *std::move(host);
    lease.last = std::move(taken);
    lease.pending = true;
  }
  handlers_->feedback_pool().Wake(*this);
  return std::nullopt;
}

void CommandFeedback::Ready() {
  {
    std::lock_guard lock(mutex_);
    ready_ = true;
  }
  handlers_->feedback_pool().Wake(*this);
}

void CommandFeedback::Close() {
  std::map<std::string, Lease> leases;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    leases.swap(leases_);
  }
  handlers_->feedback_pool().Remove(*this);
  for (const auto& [lease_id, lease] : leases) {
    v1::ReleaseLeaseRequest request;
    request.set_world(absl::StrCat("worlds/", lease.host->id()));
    request.set_lease_id(lease_id);
    handlers_->ReleaseLease(call_, request, [](const absl::StatusOr<google::protobuf::Empty>&) {});
  }
}

// Call with mutex_ locked. Uses the controller of the world, since the published state may be older
// than a lease.
void CommandFeedback::DropEndedLeases() {
  const SteadyTime now = handlers_->timeline().Now();
  std::erase_if(leases_, [now](const auto& entry) {
    const auto& [lease_id, lease] = entry;
    return !lease.pending && !lease.host->controller().IsValid(lease_id, now);
  });
}

// Returns the feedback that is due on a lease, if any. Otherwise lowers `next` to its due time.
std::optional<v1::CommandResponse> CommandFeedback::CalcResponse(const std::string& lease_id,
                                                                 Lease* lease, SteadyTime now,
                                                                 SteadyTime* next) {
  // a command is reported as applied once its step would survive a crash
  const std::shared_ptr<const Published> published = lease->host->latest_written();
  if (published->version == lease->sent_version && !lease->pending) return std::nullopt;
  const CommandEcho* echo = nullptr;
  for (const CommandEcho& candidate : published->control.commands) {
    if (candidate.lease_id == lease_id) echo = &candidate;
  }
  // once the lease has ended there is nothing more to send
  if (echo == nullptr && !lease->pending) return std::nullopt;
  // a controller waits for the step that applied its command, so this is sent at once
  const bool is_answer = echo != nullptr && echo->sequence > lease->sent_sequence;
  if (!is_answer && now < lease->next_due) {
    *next = std::min(*next, lease->next_due);
    return std::nullopt;
  }

  v1::CommandResponse response = lease->last;
  if (echo != nullptr && echo->sequence != 0) {
    lease->sent_sequence = echo->sequence;
    response.set_sequence(echo->sequence);
    response.set_applied_step(echo->applied_step);
    response.set_client_time(echo->client_time);
    response.set_latency(echo->latency);
    const physics::ContactWrench wrench = CalcTargetWrench(*published->snapshot, echo->target);
    for (int i = 0; i < 3; ++i) {
      response.add_force(wrench.force[i]);
      response.add_torque(wrench.torque[i]);
    }
  }
  lease->pending = false;
  lease->sent_version = published->version;
  lease->next_due = now + kInterval;
  return response;
}

void CommandFeedback::OnPublish() {
  handlers_->feedback_pool().Wake(*this);
}

SteadyTime CommandFeedback::Run(SteadyTime now) {
  SteadyTime next = kNever;
  std::lock_guard lock(mutex_);
  if (closed_ || !ready_) return next;

  // take turns, so that one lease does not keep feedback from the others
  auto lease = leases_.upper_bound(served_);
  for (std::size_t i = 0; i < leases_.size(); ++i, ++lease) {
    if (lease == leases_.end()) lease = leases_.begin();
    const auto response = CalcResponse(lease->first, &lease->second, now, &next);
    if (!response) continue;
    ready_ = false;
    served_ = lease->first;
    send_(*response);
    return kNever;
  }
  return next;
}

}  // namespace pliant::server
