// Rules of teleoperation about roles and competing operators, at the handlers that both transports
// use.

#include <atomic>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

#include "server/service/command_feedback.h"
#include "server/service/handlers.h"
#include "server/service/methods.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

Call CallOf(Role role, const std::string& name = "tester") {
  Call call;
  call.caller = std::make_shared<Caller>();
  call.caller->name = call.caller->label = name;
  call.caller->identity.grants = {Grant{role, {}}};
  return call;
}

// A server with one world, w.
class Teleoperation : public testing::Test {
 protected:
  void SetUp() override { Create(kTestScene); }

  void Create(const std::string& yaml) {
    v1::CreateWorldRequest create;
    create.set_world_id("w" + std::to_string(worlds_++));
    create.set_scene_yaml(yaml);
    world_ = "worlds/" + create.world_id();
    const absl::Status status =
        Do<v1::World>(CallOf(Role::kAdmin), "WorldService/CreateWorld", create).status();
    ASSERT_TRUE(status.ok()) << status;
  }

  template <typename Response, typename Request>
  absl::StatusOr<Response> Do(const Call& call, const std::string& method, const Request& request) {
    std::promise<absl::StatusOr<std::string>> promise;
    Dispatch(handlers_, call, "pliant.v1." + method, request.SerializeAsString(),
             [&](absl::StatusOr<std::string> reply) { promise.set_value(std::move(reply)); });
    const absl::StatusOr<std::string> reply = promise.get_future().get();
    if (!reply.ok()) return reply.status();
    Response response;
    EXPECT_TRUE(response.ParseFromString(*reply));
    return response;
  }

  absl::StatusOr<v1::Lease> Acquire(const Call& call, const std::string& target, bool takeover,
                                    int priority = 0) {
    v1::AcquireLeaseRequest request;
    request.set_world(world_);
    request.set_target(target);
    request.set_takeover(takeover);
    request.set_priority(priority);
    return Do<v1::Lease>(call, "ControlService/AcquireLease", request);
  }
  v1::CommandRequest Push(const std::string& lease, std::uint64_t sequence, double speed) {
    v1::CommandRequest command;
    command.set_world(world_);
    command.set_lease_id(lease);
    command.set_sequence(sequence);
    for (const double v : {speed, 0.0, 0.0}) command.mutable_twist()->add_linear(v);
    return command;
  }
  template <typename Request>
  absl::Status Ask(Role role, const std::string& method, Request request) {
    request.set_world(world_);
    return Do<google::protobuf::Empty>(CallOf(role), method, request).status();
  }
  std::shared_ptr<const Published> latest() {
    return (*handlers_.FindWorld(CallOf(Role::kAdmin), world_))->latest();
  }

  Handlers handlers_{{}};
  std::string world_;
  int worlds_ = 0;
};

// Rules 4 and 8.
TEST_F(Teleoperation, AnyoneMayStopTheWorldAndOnlyAnOperatorGoesOn) {
  ASSERT_TRUE(Ask(Role::kViewer, "ControlService/StopWorld", v1::StopWorldRequest()).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(
      Ask(Role::kViewer, "ControlService/ResumeWorld", v1::ResumeWorldRequest())));
  v1::ResetWorldRequest reset;
  reset.set_name(world_);
  v1::SetClockRequest clock;
  clock.set_name(world_);
  clock.mutable_paused();
  const Call viewer = CallOf(Role::kViewer);
  EXPECT_TRUE(
      absl::IsPermissionDenied(Do<v1::World>(viewer, "WorldService/ResetWorld", reset).status()));
  EXPECT_TRUE(
      absl::IsPermissionDenied(Do<v1::World>(viewer, "WorldService/SetClock", clock).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(Acquire(viewer, "paddle", false).status()));

  // the stop is latched: a reset does not end it
  const Call driver = CallOf(Role::kOperator);
  ASSERT_TRUE(Do<v1::World>(driver, "WorldService/ResetWorld", reset).ok());
  const auto lease = Acquire(driver, "paddle", false);
  ASSERT_TRUE(lease.ok());
  EXPECT_NE(handlers_.Command(driver, Push(lease->lease_id(), 1, 0.1)).refused().find("stopped"),
            std::string::npos);
  ASSERT_TRUE(Ask(Role::kOperator, "ControlService/ResumeWorld", v1::ResumeWorldRequest()).ok());
  EXPECT_EQ(handlers_.Command(driver, Push(lease->lease_id(), 2, 0.1)).refused(), "");
}

TEST_F(Teleoperation, HighPrioritiesAreForAdmins) {
  const auto refused = Acquire(CallOf(Role::kOperator), "paddle", false, 51);
  EXPECT_TRUE(absl::IsPermissionDenied(refused.status())) << refused.status();
  EXPECT_TRUE(Acquire(CallOf(Role::kOperator), "paddle", false, 50).ok());
  EXPECT_TRUE(Acquire(CallOf(Role::kAdmin), "paddle", true, 51).ok());
  const auto lower = Acquire(CallOf(Role::kOperator), "paddle", true, 50);
  EXPECT_TRUE(absl::IsFailedPrecondition(lower.status())) << lower.status();
}

// Two operators take the paddle from each other 5,000 times each, from threads of their own, while
// the world runs. Each command is accepted under a valid lease or refused with the reason, and the
// world runs on.
TEST_F(Teleoperation, TenThousandTakeoversHarmNobody) {
  v1::SetClockRequest clock;
  clock.set_name(world_);
  clock.mutable_real_time();
  ASSERT_TRUE(Do<v1::World>(CallOf(Role::kOperator), "WorldService/SetClock", clock).ok());
  std::atomic<int> accepted{0}, lost{0}, other{0};
  const auto fight = [&](const std::string& name, double speed) {
    const Call call = CallOf(Role::kOperator, name);
    for (int i = 0; i < 5000; ++i) {
      const auto lease = Acquire(call, "paddle", true);
      ASSERT_TRUE(lease.ok()) << lease.status();
      const v1::CommandResponse response =
          handlers_.Command(call, Push(lease->lease_id(), 1, speed));
      // the reason is forgotten after many further takeovers while this thread waits
      const auto says = [&](const char* text) {
        return response.refused().find(text) != std::string::npos;
      };
      const bool is_taken = says("taken over by") || says("there is no lease");
      ++(response.refused().empty() ? accepted : is_taken ? lost : other);
    }
  };
  std::thread alice(fight, "alice", 0.2), bob(fight, "bob", -0.2);
  alice.join();
  bob.join();
  EXPECT_EQ(other, 0);
  EXPECT_EQ(accepted + lost, 10000);
  EXPECT_GT(accepted, 0);

  // one of them holds it, everyone sees who, and commands apply
  const Call carol = CallOf(Role::kOperator, "carol");
  const auto lease = Acquire(carol, "paddle", true);
  ASSERT_TRUE(lease.ok());
  for (std::uint64_t sequence = 1; sequence < 500; ++sequence) {
    ASSERT_EQ(handlers_.Command(carol, Push(lease->lease_id(), sequence, 0.1)).refused(), "");
    const auto published = latest();
    ASSERT_LE(published->control.commands.size(), 1u);
    if (!published->control.commands.empty() && published->control.commands[0].sequence > 0 &&
        published->control.commands[0].client == "carol")
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto published = latest();
  ASSERT_EQ(published->control.commands.size(), 1u);
  EXPECT_EQ(published->control.commands[0].client, "carol");
  EXPECT_GT(published->control.commands[0].applied_step, 0);
  EXPECT_FALSE(published->fault.has_value());
}

// The commands of as many leases as one stream may have are all answered, and one more is refused
// instead of hiding the answers to another.
TEST_F(Teleoperation, EveryLeaseOfOneConnectionIsAnswered) {
  const int count = static_cast<int>(CommandFeedback::kMaxLeases) + 1;
  std::string scene = "time_step: 0.01\nbodies:\n";
  for (int i = 0; i < count; ++i) {
    scene += "  - {name: b" + std::to_string(i) +
             ", rigid: {motion: KINEMATIC, shapes: [{sphere: {radius: 0.01}}]}}\n";
  }
  Create(scene);
  const Call call = CallOf(Role::kOperator);
  std::mutex mutex;
  std::set<std::string> answered;
  bool written = false;
  const auto feedback =
      std::make_shared<CommandFeedback>(&handlers_, call, [&](const v1::CommandResponse& response) {
        EXPECT_EQ(response.refused(), "");
        std::lock_guard lock(mutex);
        answered.insert(response.target());
        written = true;
      });
  feedback->Open();
  for (int i = 0; i < count; ++i) {
    const auto lease = Acquire(call, "b" + std::to_string(i), false);
    ASSERT_TRUE(lease.ok()) << lease.status();
    const auto response = feedback->Submit(Push(lease->lease_id(), 1, 0.1));
    EXPECT_EQ(response.has_value(), i == count - 1);
    if (response) {
      EXPECT_NE(response->refused().find("64 leases"), std::string::npos) << response->refused();
    }
  }
  // the connection takes one response after the other
  const auto count_answered = [&] {
    std::unique_lock lock(mutex);
    const bool is_ready = std::exchange(written, false);
    const std::size_t count_now = answered.size();
    lock.unlock();
    if (is_ready) feedback->Ready();
    return count_now;
  };
  for (int i = 0; i < 10000 && count_answered() < CommandFeedback::kMaxLeases; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(count_answered(), CommandFeedback::kMaxLeases);
  feedback->Close();
}

}  // namespace
}  // namespace pliant::server
