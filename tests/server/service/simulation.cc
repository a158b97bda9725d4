#include "tests/server/service/simulation.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "server/store/recovery.h"
#include "tests/server/host/robot_scene.h"

namespace pliant::server {
namespace {

using std::chrono::milliseconds;
using Seconds = std::chrono::duration<double>;

constexpr int kWorlds = 6;
constexpr Seconds kLongestReply{20};  // of a request without a longer deadline

// A paddle that can be driven, and a ball that falls on a floor, in steps of 0.1 s.
constexpr char kSimulatedScene[] = R"(time_step: 0.1
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: paddle, rigid: {motion: KINEMATIC, pose: {position: [1, 0, 1]},
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
  - {name: ball, rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 0.2]},
      shapes: [{sphere: {radius: 0.1}}]}}
)";

// A robot with every kind of actuator and controller, to be put beside them.
constexpr char kSimulatedRobot[] = R"(robots:
  - name: arm
    file: gantry.urdf
    pose: {position: [0, 3, 1]})";
constexpr char kSimulatedTeleop[] = R"(
    teleop:
      fallback: HOLD
      groups: [{name: slides, joints: ["[xyz]"]}, {name: wheels, joints: [spin, motor]}]
      gamepad:
        controls:
          - {axis: 0, tool: tool, twist: [0, 0, 0, 0.1, 0, 0]}
          - {axis: 1, joint: spin, rate: 3}
          - {button: 7, gripper: jaws, rate: -0.02}
)";
constexpr std::array kTargets = {"paddle", "ball", "arm", "arm/slides", "arm/wheels"};
constexpr std::size_t kBodies = 2;  // of these targets, the others are of the robot
constexpr int kRobotWorlds = 3;     // have the robot

std::string IdOf(int world) {
  return absl::StrCat("sim-", world);
}

bool Overlap(const std::string& a, const std::string& b) {
  return a == b || a.starts_with(b + "/") || b.starts_with(a + "/");
}

}  // namespace

// A client with one connection at a time. It is one of the workers of the timeline.
class Simulation::Client {
 public:
  Client(Simulation* simulation, int number) : sim_(*simulation), number_(number) {
    worker_ = sim_.timeline_.Start([this] { return Act(); }, {});
  }
  ~Client() { worker_->Stop(); }

  // Breaks the connection, as a process that is killed does.
  void Leave() {
    if (connection_ == nullptr) return;
    connection_->gone->store(true);
    if (connection_->stream != nullptr) connection_->stream->Close();
    if (connection_->feedback != nullptr) connection_->feedback->Close();
    // messages under way keep the connection, but nothing of the server, which may end first
    connection_->stream.reset();
    connection_->feedback.reset();
    connection_.reset();
    lease_.clear();
  }
  void Retire() {
    worker_->Stop();
    Leave();
  }

 private:
  // One connection, as a transport has it. What arrives after it is gone is dropped.
  struct Connection : public FrameSink, public std::enable_shared_from_this<Connection> {
    explicit Connection(Client* owner) : client(*owner) {}

    void SendFrame(const FrameHead& head, std::shared_ptr<const std::string> body) override {
      v1::Frame frame;
      if (!frame.ParseFromString(*body)) client.sim_.Fail("a frame cannot be read");
      if (head.frame != ++sent) client.sim_.Fail("a frame is missing from the numbers");
      // the server knows of acknowledgements from the first one on
      if (acknowledged > 0 && sent - acknowledged > AckWindow::kMaxUnacknowledged)
        client.sim_.Fail("more than two frames are unacknowledged");
      const double delay = client.slow_ ? 0.5 : 0.01;
      client.sim_.Deliver(delay, &to_client,
                          [weak = weak_from_this(), head, frame = std::move(frame)] {
                            if (const auto self = weak.lock())
                              self->client.Receive(*self, head, frame);
                          });
    }
    void SendEnd(const absl::Status& /*why*/) override { ended = true; }

    Client& client;
    std::shared_ptr<Caller> caller = std::make_shared<Caller>();
    std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
    std::shared_ptr<FrameStream> stream;
    std::shared_ptr<CommandFeedback> feedback;
    SteadyTime to_client, to_server;  // arrival of the last message, which none overtakes
    bool ended = false;
    bool acknowledges = false;
    std::uint64_t sent = 0, acknowledged = 0;
    std::uint32_t epoch = 0;
    std::int64_t step = -1;
    std::string watched;
  };

  SteadyTime Act() {
    const SteadyTime now = sim_.timeline_.Now();
    if (connection_ == nullptr) {
      connection_ = std::make_shared<Connection>(this);
      connection_->caller->name = absl::StrCat("client-", number_, "-", ++connections_);
      connection_->caller->identity = Anyone();
      connection_->acknowledges = sim_.Chance(0.7);
      slow_ = sim_.Chance(0.2);
      world_ = static_cast<int>(sim_.random_() % kWorlds);
    } else if (sim_.Chance(0.01)) {
      ++sim_.counts_.crashes;
      Leave();
      return now + std::chrono::duration_cast<SteadyTime::duration>(Seconds(sim_.Uniform(0, 5)));
    }
    Choose();
    if (!lease_.empty()) Drive();
    const double pause = lease_.empty() ? sim_.Uniform(0, 2) : sim_.Uniform(0.02, 0.12);
    return now + std::chrono::duration_cast<SteadyTime::duration>(Seconds(pause));
  }

  // Makes one random request.
  void Choose() {
    if (!lease_.empty() && !sim_.Chance(0.1)) return;
    const std::string name = "worlds/" + IdOf(world_);
    switch (sim_.random_() % 16) {
      case 0: {
        v1::CreateWorldRequest request;
        request.set_world_id(IdOf(world_));
        request.set_shipped_scene(world_ < kRobotWorlds ? "robot" : "plain");
        if (sim_.has_store()) request.set_durable(sim_.Chance(0.7));
        return Ask("WorldService/CreateWorld", request);
      }
      case 1: {
        if (!sim_.Chance(0.1)) return;
        v1::DeleteWorldRequest request;
        request.set_name(name);
        return Ask("WorldService/DeleteWorld", request);
      }
      case 2: {
        v1::SetClockRequest request;
        request.set_name(name);
        if (sim_.Chance(0.7)) {
          request.mutable_real_time()->set_factor(sim_.Uniform(0.5, 2));
        } else {
          request.mutable_paused();
        }
        return Ask("WorldService/SetClock", request);
      }
      case 3: {
        // some of these can only be ended by others, or by their deadline
        v1::StepWorldRequest request;
        request.set_name(name);
        request.set_steps(sim_.Chance(0.05) ? 10'000'000 : 5);
        if (sim_.Chance(0.5)) {
          v1::TargetCommand* command = request.add_commands();
          command->set_target("paddle");
          for (const double x : {1.0, sim_.Uniform(-1, 1), 1.0})
            command->mutable_pose()->add_position(x);
        }
        return Ask("WorldService/StepWorld", request, 0.02);
      }
      case 4: {
        v1::ResetWorldRequest request;
        request.set_name(name);
        return Ask("WorldService/ResetWorld", request);
      }
      case 5: {
        v1::CheckpointWorldRequest request;
        request.set_name(name);
        if (sim_.Chance(0.5)) request.set_checkpoint_id(CheckpointId());
        return Ask("WorldService/CheckpointWorld", request);
      }
      case 12: {
        v1::RestoreWorldRequest request;
        request.set_name(name);
        if (sim_.Chance(0.5)) {
          request.set_checkpoint(absl::StrCat(name, "/checkpoints/", CheckpointId()));
        } else {
          request.set_state(saved_);
        }
        return Ask("WorldService/RestoreWorld", request);
      }
      case 13: {
        v1::DeleteCheckpointRequest request;
        request.set_name(absl::StrCat(name, "/checkpoints/", CheckpointId()));
        return Ask("WorldService/DeleteCheckpoint", request);
      }
      case 14: {
        v1::StopWorldRequest request;
        request.set_world(name);
        if (sim_.Chance(0.2)) return Ask("ControlService/StopWorld", request);
        v1::ResumeWorldRequest resume;
        resume.set_world(name);
        return Ask("ControlService/ResumeWorld", resume);
      }
      case 6:
      case 7:
        return Subscribe(name);
      case 8:
      case 9: {
        v1::AcquireLeaseRequest request;
        request.set_world(name);
        const std::size_t targets = world_ < kRobotWorlds ? kTargets.size() : kBodies;
        request.set_target(kTargets[sim_.random_() % targets]);
        request.set_takeover(sim_.Chance(0.1));
        request.set_priority(sim_.Chance(0.2) ? 50 : 0);
        return Ask("ControlService/AcquireLease", request);
      }
      case 10: {
        v1::ReleaseLeaseRequest request;
        request.set_world(name);
        request.set_lease_id(lease_);
        lease_.clear();
        return Ask("ControlService/ReleaseLease", request);
      }
      default: {
        v1::ForkWorldRequest request;
        request.set_name(name);
        request.set_world_id(IdOf(static_cast<int>(sim_.random_() % kWorlds)));
        return Ask("WorldService/ForkWorld", request);
      }
    }
  }

  std::string CheckpointId() { return absl::StrCat("kept-", sim_.random_() % 3); }

  // Sends a request over the connection, and demands exactly one reply in time.
  template <typename Request>
  void Ask(const std::string& method, const Request& request, double timeout = 0) {
    ++sim_.counts_.requests;
    struct Outcome {
      bool answered = false;
    };
    const auto outcome = std::make_shared<Outcome>();
    sim_.Deliver(0.01, &connection_->to_server,
                 [this, connection = connection_, method, outcome, timeout,
                  bytes = request.SerializeAsString()] {
                   if (connection->gone->load()) return;
                   Call call{connection->caller, {kNever, connection->gone}};
                   if (timeout > 0) {
                     call.limits.deadline =
                         sim_.timeline_.Now() +
                         std::chrono::duration_cast<SteadyTime::duration>(Seconds(timeout));
                   }
                   const auto reply = [this, weak = std::weak_ptr<Connection>(connection), method,
                                       outcome](absl::StatusOr<std::string> result) {
                     if (std::exchange(outcome->answered, true))
                       sim_.Fail(method + " is answered twice");
                     if (!result.ok()) ++sim_.counts_.refusals;
                     const auto alive = weak.lock();
                     if (alive != nullptr && alive == connection_ && result.ok())
                       OnReply(method, *result);
                   };
                   Dispatch(*sim_.handlers_, call, "pliant.v1." + method, bytes, reply);
                   // a server that is killed answers nothing
                   const auto demand = [this, method, outcome, server = sim_.counts_.restarts] {
                     if (!outcome->answered && server == sim_.counts_.restarts)
                       sim_.Fail(method + " is not answered");
                   };
                   sim_.messages_.emplace(
                       sim_.timeline_.Now() +
                           std::chrono::duration_cast<SteadyTime::duration>(kLongestReply),
                       demand);
                   sim_.network_->Wake();
                 });
  }

  void OnReply(const std::string& method, const std::string& bytes) {
    if (method == "WorldService/CreateWorld") ++sim_.counts_.worlds;
    if (method == "WorldService/RestoreWorld") ++sim_.counts_.restores;
    if (method == "WorldService/CheckpointWorld") {
      v1::CheckpointWorldResponse response;
      if (response.ParseFromString(bytes) && !response.state().empty()) saved_ = response.state();
    }
    if (method != "ControlService/AcquireLease") return;
    v1::Lease lease;
    if (!lease.ParseFromString(bytes)) sim_.Fail("a lease cannot be read");
    lease_ = lease.lease_id();
    leased_ = lease.world();
    target_ = targets_[lease_] = lease.target();
  }

  void Subscribe(const std::string& name) {
    Connection& connection = *connection_;
    v1::Subscription request;
    request.set_world(name);
    request.set_rate(sim_.Chance(0.5) ? 10 : 5);
    absl::StatusOr<Subscription> subscription =
        sim_.handlers_->Subscribe({connection.caller, {}}, request);
    if (!subscription.ok()) return;
    connection.watched = name;
    connection.step = -1;
    if (connection.stream != nullptr && !connection.ended)
      return connection.stream->Change(*std::move(subscription));
    if (connection.stream != nullptr) connection.stream->Close();
    connection.ended = false;
    connection.sent = connection.acknowledged = 0;
    connection.stream = sim_.handlers_->MakeStream(&connection, *std::move(subscription));
    connection.stream->Open();
  }

  void Receive(Connection& connection, const FrameHead& head, const v1::Frame& frame) {
    if (connection.gone->load()) return;
    ++sim_.counts_.frames;
    if (!head.keyframe && frame.epoch() == connection.epoch && frame.step() < connection.step)
      sim_.Fail("a frame is older than the one before");
    connection.epoch = frame.epoch();
    connection.step = frame.step();
    connection.stream->Ready();
    if (!connection.acknowledges) return;
    sim_.Deliver(0.01, &connection.to_server,
                 [weak = connection.weak_from_this(), number = head.frame] {
                   const auto self = weak.lock();
                   if (self == nullptr || self->gone->load() || number > self->sent) return;
                   self->acknowledged = std::max(self->acknowledged, number);
                   self->stream->Ack(number, self->client.sim_.timeline_.Now());
                 });
  }

  // Sends a command under the lease. The connection may learn later that the lease was lost.
  void Drive() {
    ++sim_.counts_.commands;
    Connection& connection = *connection_;
    if (connection.feedback == nullptr) {
      connection.feedback = std::make_shared<CommandFeedback>(
          sim_.handlers_.get(), Call{connection.caller, {}},
          [weak = connection.weak_from_this()](const v1::CommandResponse& response) {
            const auto self = weak.lock();
            if (self == nullptr) return;
            Client& client = self->client;
            const auto known = client.targets_.find(response.lease_id());
            if (known == client.targets_.end() || known->second != response.target())
              client.sim_.Fail("feedback names another lease or target");
            const auto kind = client.kinds_.find(response.sequence());
            if (kind != client.kinds_.end() && response.applied_step() > 0)
              ++client.sim_.counts_.applied[kind->second];
            self->client.sim_.Deliver(0.01, &self->to_client, [weak] {
              const auto alive = weak.lock();
              if (alive != nullptr && !alive->gone->load()) alive->feedback->Ready();
            });
          });
      connection.feedback->Open();
    }
    v1::CommandRequest command;
    command.set_world(leased_);
    command.set_lease_id(lease_);
    command.set_sequence(++sequence_);
    Fill(&command);
    kinds_[sequence_] =
        v1::CommandRequest::descriptor()->FindFieldByNumber(command.command_case())->name();
    kinds_.erase(kinds_.begin(),
                 kinds_.lower_bound(sequence_ - std::min<std::uint64_t>(sequence_, 100)));
    if (connection.feedback->Submit(command)) lease_.clear();
  }

  // A random command to the leased target.
  void Fill(v1::CommandRequest* command) {
    const double x = sim_.Uniform(-0.3, 0.3);
    if (target_ == "paddle") {
      for (const double v : {0.0, x, 0.0}) command->mutable_twist()->add_linear(v);
      return;
    }
    if (target_ == "ball") return Pull(command, "");
    const bool has_slides = target_ != "arm/wheels", has_wheels = target_ != "arm/slides";
    switch (sim_.random_() % 6) {
      case 0:
        command->mutable_gamepad()->add_axes(x);
        command->mutable_gamepad()->add_axes(x);
        return;
      case 1:
        if (!has_slides) break;
        command->mutable_gains()->add_joints("x");
        command->mutable_gains()->add_stiffness(sim_.Uniform(100, 10000));
        return;
      case 2:
        if (!has_slides) break;
        for (const double v : {x, 0.0, 0.0}) command->mutable_twist()->add_linear(v);
        return;
      case 3:
        if (target_ != "arm") break;
        command->mutable_gripper()->set_position(sim_.Uniform(0, 0.03));
        return;
      case 4:
        return Pull(command, "hand");
    }
    command->mutable_joint_targets()->add_joints(has_wheels ? "spin" : "y");
    command->mutable_joint_targets()->add_values(x);
  }

  void Pull(v1::CommandRequest* command, const std::string& link) {
    if (sim_.Chance(0.5)) {
      command->mutable_wrench()->set_link(link);
      for (const double v : {sim_.Uniform(-1, 1), 0.0, 1.0})
        command->mutable_wrench()->add_force(v);
      return;
    }
    command->mutable_spring()->set_link(link);
    for (const double v : {sim_.Uniform(-1, 1), link.empty() ? 0.0 : 3.0, 0.5})
      command->mutable_spring()->add_anchor(v);
  }

  Simulation& sim_;
  const int number_;
  int connections_ = 0;
  int world_ = 0;
  bool slow_ = false;
  std::string lease_, leased_, target_;
  std::map<std::string, std::string> targets_;  // by lease
  std::map<std::uint64_t, std::string> kinds_;  // of the last commands, by sequence
  std::string saved_;                           // a state
  std::uint64_t sequence_ = 0;
  std::shared_ptr<Connection> connection_;
  std::unique_ptr<Timeline::Worker> worker_;
};

Simulation::Simulation(std::uint64_t seed, int clients, const std::string& data_folder)
    : seed_(seed), random_(seed), timeline_(seed ^ 0x5eed), data_folder_(data_folder) {
  scenes_.Write("gantry.urdf", kGantryUrdf);
  scenes_.Write("plain.yaml", kSimulatedScene);
  scenes_.Write("robot.yaml",
                absl::StrCat(kSimulatedScene, kSimulatedRobot, kGantryRobot, kSimulatedTeleop + 1));
  StartServer();
  network_ = timeline_.Start([this] { return DeliverNext(); }, {});
  for (int i = 0; i < clients; ++i) clients_.push_back(std::make_unique<Client>(this, i));
}

Simulation::~Simulation() {
  for (const auto& client : clients_) client->Retire();
  network_->Stop();
}

void Simulation::StartServer() {
  Handlers::Options options;
  if (has_store()) {
    auto store = Store::Open({data_folder_, &timeline_, std::chrono::seconds(3)});
    if (!store.ok()) Fail(store.status().ToString());
    options.store = *std::move(store);
  }
  options.quotas.server.worlds = kWorlds;
  options.scenes_folder = scenes_.File("");
  options.timeline = &timeline_;
  handlers_ = std::make_unique<Handlers>(options);
  handlers_->RecoverWorlds();
}

// Kills the server and starts another one with what its folder has at this moment.
void Simulation::Restart() {
  std::map<std::string, std::shared_ptr<const physics::Snapshot>> acknowledged;
  for (const auto& host : handlers_->registry().List()) {
    if (host->is_durable()) acknowledged[host->id()] = host->latest_written()->snapshot;
  }
  const std::string killed = std::exchange(data_folder_, absl::StrCat(data_folder_, "+"));
  std::filesystem::copy(killed, data_folder_, std::filesystem::copy_options::recursive);
  ++counts_.restarts;
  for (const auto& client : clients_) client->Leave();
  handlers_.reset();  // what it still writes is lost
  std::filesystem::remove_all(killed);
  StartServer();
  for (const auto& [id, snapshot] : acknowledged) {
    ++counts_.recoveries;
    const auto host = handlers_->registry().Get(id);
    if (!host.ok()) {
      Fail(absl::StrCat("a durable world is lost: ", std::string(host.status().message())));
      continue;
    }
    const auto published = (*host)->latest();
    const physics::State& state = published->snapshot->state;
    if (published->clock.kind != ClockMode::Kind::kPaused) Fail("a world that is back runs");
    if (state.step <= snapshot->state.step &&
        physics::HashState(state) != physics::HashState(snapshot->state))
      Fail("a world that is back has lost what it acknowledged");
  }
}

// Fails if two leases on overlapping targets are both held.
void Simulation::CheckLeases() {
  for (const auto& host : handlers_->registry().List()) {
    const std::vector<CommandEcho>& commands = host->latest()->control.commands;
    for (std::size_t i = 0; i < commands.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k)
        if (Overlap(commands[i].target, commands[k].target))
          Fail(absl::StrCat(commands[i].target, " and ", commands[k].target, " are both held"));
    }
  }
}

double Simulation::Uniform(double low, double high) {
  return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1.0p-53;
}

void Simulation::Deliver(double mean_delay, SteadyTime* last, std::function<void()> message) {
  // one message in fifty is lost at first and sent again
  const double delay = Uniform(0, 2 * mean_delay) + (Chance(0.02) ? 0.2 : 0);
  *last = std::max(
      *last, timeline_.Now() + std::chrono::duration_cast<SteadyTime::duration>(Seconds(delay)));
  messages_.emplace(*last, std::move(message));
  network_->Wake();
}

SteadyTime Simulation::DeliverNext() {
  while (!messages_.empty() && messages_.begin()->first <= timeline_.Now()) {
    const auto message = std::move(messages_.begin()->second);
    messages_.erase(messages_.begin());
    message();
  }
  return messages_.empty() ? kNever : messages_.begin()->first;
}

void Simulation::Fail(const std::string& what) {
  ADD_FAILURE() << what << " (seed " << seed_ << ", at "
                << Seconds(timeline_.Now().time_since_epoch()).count() << " s)";
}

// Brings each durable world back from its folder as it is now, without touching the world itself.
void Simulation::RecoverWorlds() {
  for (const auto& host : handlers_->registry().List()) {
    if (!host->is_durable()) continue;
    ++counts_.recoveries;
    const auto recovered =
        RecoverWorld(WorldFolder(host->journal()->folder()), host->shared_model());
    if (!recovered.ok()) {
      Fail(recovered.status().ToString());
      continue;
    }
    // steps may be written before the reply to their request
    const physics::State& acknowledged = host->latest_written()->snapshot->state;
    const physics::State& state = recovered->world.state();
    if (state.step <= acknowledged.step &&
        physics::HashState(state) != physics::HashState(acknowledged))
      Fail("a durable world has lost what it acknowledged");
  }
}

void Simulation::Run(std::chrono::seconds time) {
  constexpr int kKills = 20;
  for (int i = 0; i < kKills; ++i) {
    timeline_.RunFor(Seconds(time) / kKills);
    CheckLeases();
    if (!has_store()) continue;
    RecoverWorlds();
    if (i % 4 == 3) Restart();
  }

  // leases lapse, streams end and replies come, whatever the clients left behind
  for (const auto& client : clients_) client->Retire();
  timeline_.RunFor(Seconds(2 * kLongestReply));
  if (handlers_->stream_counters().open.load() != 0) Fail("a stream outlives its client");
  for (const auto& host : handlers_->registry().List()) {
    const auto published = host->latest();
    if (!published->control.commands.empty()) Fail("a lease outlives its client");
    if (published->clock.kind == ClockMode::Kind::kStepping)
      Fail("a request to step outlives its client");
    if (published->fault) Fail("a world has a fault: " + published->fault->reason);
    const auto height = physics::CalcBodyPose(host->model(), published->snapshot->state,
                                              physics::FindBody(host->model(), "ball"))
                            .p.z();
    if (!(height > 0.05)) Fail("a ball fell through the floor");
  }
}

}  // namespace pliant::server
