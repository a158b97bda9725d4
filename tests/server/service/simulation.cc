#include "tests/server/service/simulation.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "server/store/recovery.h"

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

std::string IdOf(int world) {
  return absl::StrCat("sim-", world);
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
    switch (sim_.random_() % 12) {
      case 0: {
        v1::CreateWorldRequest request;
        request.set_world_id(IdOf(world_));
        request.set_scene_yaml(kSimulatedScene);
        if (sim_.has_store_) request.set_durable(sim_.Chance(0.7));
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
        return Ask("WorldService/CheckpointWorld", request);
      }
      case 6:
      case 7:
        return Subscribe(name);
      case 8:
      case 9: {
        v1::AcquireLeaseRequest request;
        request.set_world(name);
        request.set_target("paddle");
        request.set_takeover(sim_.Chance(0.1));
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
                       Hear(method, *result);
                   };
                   Dispatch(*sim_.handlers_, call, "pliant.v1." + method, bytes, reply);
                   const auto demand = [this, method, outcome] {
                     if (!outcome->answered) sim_.Fail(method + " is not answered");
                   };
                   sim_.messages_.emplace(
                       sim_.timeline_.Now() +
                           std::chrono::duration_cast<SteadyTime::duration>(kLongestReply),
                       demand);
                   sim_.network_->Wake();
                 });
  }

  void Hear(const std::string& method, const std::string& bytes) {
    if (method == "WorldService/CreateWorld") ++sim_.counts_.worlds;
    if (method != "ControlService/AcquireLease") return;
    v1::Lease lease;
    if (!lease.ParseFromString(bytes)) sim_.Fail("a lease cannot be read");
    lease_ = lease.lease_id();
    leased_ = lease.world();
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

  // Sends a command under the lease. The same connection may learn later that it lost it.
  void Drive() {
    ++sim_.counts_.commands;
    Connection& connection = *connection_;
    if (connection.feedback == nullptr) {
      connection.feedback = std::make_shared<CommandFeedback>(
          sim_.handlers_.get(), Call{connection.caller, {}},
          [weak = connection.weak_from_this()](const v1::CommandResponse& response) {
            const auto self = weak.lock();
            if (self == nullptr) return;
            if (response.lease_id().empty() || response.target() != "paddle")
              self->client.sim_.Fail("feedback names no lease or target");
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
    for (const double v : {0.0, sim_.Uniform(-0.5, 0.5), 0.0})
      command.mutable_twist()->add_linear(v);
    if (connection.feedback->Submit(command)) lease_.clear();
  }

  Simulation& sim_;
  const int number_;
  int connections_ = 0;
  int world_ = 0;
  bool slow_ = false;
  std::string lease_, leased_;
  std::uint64_t sequence_ = 0;
  std::shared_ptr<Connection> connection_;
  std::unique_ptr<Timeline::Worker> worker_;
};

Simulation::Simulation(std::uint64_t seed, int clients, const std::string& data_folder)
    : seed_(seed), random_(seed), timeline_(seed ^ 0x5eed), has_store_(!data_folder.empty()) {
  Handlers::Options options;
  if (has_store_) {
    auto store = Store::Open({data_folder, &timeline_, std::chrono::seconds(3)});
    if (!store.ok()) Fail(store.status().ToString());
    options.store = *std::move(store);
  }
  options.quotas.server.worlds = kWorlds;
  options.timeline = &timeline_;
  handlers_ = std::make_unique<Handlers>(options);
  network_ = timeline_.Start([this] { return DeliverNext(); }, {});
  for (int i = 0; i < clients; ++i) clients_.push_back(std::make_unique<Client>(this, i));
}

Simulation::~Simulation() {
  for (const auto& client : clients_) client->Retire();
  network_->Stop();
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
    if (has_store_) RecoverWorlds();
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
