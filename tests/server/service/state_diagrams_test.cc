// The server behaves as the diagrams of docs/states.md show.

#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "gtest/gtest.h"

#include "server/control/world_control.h"
#include "server/service/handlers.h"
#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

using Arrow = std::tuple<std::string, std::string, std::string>;  // from, event, to

// Arrows of the diagram in a section of the page, without the initial one.
std::set<Arrow> ReadDiagram(const std::string& section) {
  std::ifstream page(std::string(PLIANT_SOURCE_DIR) + "/docs/states.md");
  std::string line, here;
  std::set<Arrow> arrows;
  const std::regex arrow("  (\\w+) --> (\\w+): (.+)");
  while (std::getline(page, line)) {
    std::smatch match;
    if (line.starts_with("## ")) here = line.substr(3);
    if (here != section || !std::regex_match(line, match, arrow)) continue;
    const bool is_new = arrows.insert({match[1], match[3], match[2]}).second;
    EXPECT_TRUE(is_new) << line;
  }
  EXPECT_FALSE(arrows.empty()) << section;
  return arrows;
}

// A server whose one world is brought into a state of its clock.
class ClockedWorld {
 public:
  ClockedWorld(const std::string& yaml, const std::string& state) {
    call_.caller = std::make_shared<Caller>();
    call_.caller->identity.grants = {Grant{Role::kAdmin, {}}};
    v1::CreateWorldRequest create;
    create.set_world_id("w");
    create.set_scene_yaml(yaml);
    std::promise<bool> built;
    handlers_.CreateWorld(call_, create, [&](const auto& world) { built.set_value(world.ok()); });
    EXPECT_TRUE(built.get_future().get());
    host_ = *handlers_.FindWorld(call_, "worlds/w");
    if (state == "running") SetClock({ClockMode::Kind::kFreeRun, 1});
    if (state == "stepping") Step(WorldHost::kMaxSteps);
  }

  // Performs an event; false if it was refused.
  bool Do(const std::string& event) {
    if (event == "SetClock paused") return SetClock({});
    if (event == "SetClock real_time") return SetClock({ClockMode::Kind::kRealTime, 1});
    if (event == "SetClock free_run") return SetClock({ClockMode::Kind::kFreeRun, 1});
    if (event == "StepWorld") return Step(WorldHost::kMaxSteps);
    if (event == "ResetWorld") {
      return Wait([this](const WorldHost::Done& done) { host_->Reset("tester", done); });
    }
    std::string bytes;
    std::promise<void> read;
    host_->Read([&](const auto& published) {
      const physics::Snapshot& snapshot = *(*published)->snapshot;
      bytes = physics::SerializeState(snapshot.state, snapshot.model->hash);
      read.set_value();
    });
    read.get_future().get();
    return Wait([&](const WorldHost::Done& done) { host_->Restore(bytes, "tester", done); });
  }

  // Requests steps without waiting for their end; false if the request was refused at once.
  bool Step(std::int64_t steps, const CallLimits& limits = {}) {
    auto ended = std::make_shared<std::promise<absl::Status>>();
    auto end = ended->get_future();
    host_->Step(steps, limits, [ended](const auto& done) { ended->set_value(done.status()); });
    // it was accepted once the world has handled a later request
    std::promise<void> handled;
    host_->Read([&](const auto& /*published*/) { handled.set_value(); });
    handled.get_future().get();
    const bool is_over = end.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    return !is_over || !absl::IsFailedPrecondition(end.get());
  }

  std::string state() const {
    switch (host_->latest()->clock.kind) {
      case ClockMode::Kind::kPaused:
        return "paused";
      case ClockMode::Kind::kStepping:
        return "stepping";
      default:
        return "running";
    }
  }
  // Waits up to 20 s for a condition.
  bool Comes(const std::function<bool()>& condition) const {
    for (int i = 0; i < 4000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
  }
  bool Becomes(const std::string& wanted) const {
    return Comes([&] { return state() == wanted; });
  }
  bool has_fault() const { return host_->latest()->fault.has_value(); }
  std::int64_t step() const { return host_->latest()->snapshot->state.step; }

 private:
  bool SetClock(const ClockMode& mode) {
    return Wait([&](const WorldHost::Done& done) { host_->SetClock(mode, "tester", done); });
  }
  static bool Wait(const std::function<void(const WorldHost::Done&)>& request) {
    std::promise<bool> done;
    request([&](const auto& published) { done.set_value(published.ok()); });
    return done.get_future().get();
  }

  Handlers handlers_{{}};
  Call call_;
  std::shared_ptr<WorldHost> host_;
};

TEST(StateDiagrams, ClockIsAsDrawn) {
  std::set<Arrow> drawn = ReadDiagram("Clock");
  for (const std::string from : {"paused", "stepping", "running"}) {
    for (const std::string event : {"StepWorld", "SetClock paused", "SetClock real_time",
                                    "SetClock free_run", "ResetWorld", "RestoreWorld"}) {
      ClockedWorld world(kTestScene, from);
      ASSERT_TRUE(world.Becomes(from)) << from;
      const bool is_done = world.Do(event);
      std::string to = from;
      for (const Arrow& arrow : drawn) {
        if (std::get<0>(arrow) == from && std::get<1>(arrow) == event) to = std::get<2>(arrow);
      }
      EXPECT_TRUE(world.Becomes(to)) << from << ", " << event << ": " << world.state();
      const bool is_drawn = drawn.erase({from, event, to}) > 0;
      if (is_drawn) {
        EXPECT_TRUE(is_done) << from << ", " << event;
      }
    }
    // transitions without a request
    if (from == "paused") continue;
    ClockedWorld faulty(kFaultyScene, from);
    EXPECT_TRUE(faulty.Comes([&] { return faulty.has_fault(); })) << from;
    EXPECT_EQ(faulty.state(), "paused") << from;
    EXPECT_EQ(drawn.erase({from, "fault", "paused"}), 1u) << from;
  }
  ClockedWorld world(kTestScene, "paused");
  world.Step(2);
  EXPECT_TRUE(world.Comes([&] { return world.step() == 2 && world.state() == "paused"; }));
  EXPECT_EQ(drawn.erase({"stepping", "steps made", "paused"}), 1u);
  CallLimits limits;
  limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  world.Step(WorldHost::kMaxSteps, limits);
  EXPECT_TRUE(world.Comes([&] { return world.step() > 2 && world.state() == "paused"; }));
  EXPECT_EQ(drawn.erase({"stepping", "deadline", "paused"}), 1u);
  for (const auto& [from, event, to] : drawn)
    ADD_FAILURE() << "not what happens: " << from << " --> " << to << ": " << event;
}

// The control of a world in time that the test sets.
class Controlled {
 public:
  bool Acquire(const std::string& client, bool takeover, const std::string& renewed = "") {
    v1::AcquireLeaseRequest request;
    request.set_target("paddle");
    request.set_client(client);
    request.set_takeover(takeover);
    request.set_lease_id(renewed);
    const auto lease = control_.Acquire(request, now_);
    if (lease.ok()) lease_ = lease->lease_id();
    return lease.ok();
  }
  bool Do(const std::string& event) {
    if (event == "AcquireLease") return Acquire("bob", false);
    if (event == "takeover") return Acquire("bob", true) && was_held_;
    if (event == "renewal") return Acquire("alice", false, lease_.empty() ? "none" : lease_);
    if (event == "ReleaseLease") return control_.Release(lease_, now_).ok();
    if (event == "StopWorld" || event == "ResumeWorld") {
      const bool before = control_.Describe(now_).stopped;
      event == "StopWorld" ? control_.Stop() : control_.Resume();
      return event == "StopWorld" || before;
    }
    if (event == "lapse") {
      now_ += LeaseTable::kLeaseTime;
      return was_held_;
    }
    v1::CommandRequest command;
    command.set_lease_id(lease_);
    command.set_sequence(1);
    for (int i = 0; i < 3; ++i) command.mutable_twist()->add_linear(0);
    return control_.Submit(command, now_).ok();
  }
  void Hold() { was_held_ = Acquire("alice", false); }
  bool is_held() { return !control_.Describe(now_).commands.empty(); }
  bool is_stopped() { return control_.Describe(now_).stopped; }

 private:
  WorldControl control_{LoadTestModel()};
  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  std::string lease_;
  bool was_held_ = false;
};

TEST(StateDiagrams, LeaseIsAsDrawn) {
  std::set<Arrow> found;
  for (const std::string from : {"free", "held"}) {
    for (const std::string event :
         {"AcquireLease", "command", "renewal", "takeover", "ReleaseLease", "lapse"}) {
      Controlled world;
      if (from == "held") world.Hold();
      if (world.Do(event)) found.insert({from, event, world.is_held() ? "held" : "free"});
    }
  }
  EXPECT_EQ(found, ReadDiagram("Lease"));
}

TEST(StateDiagrams, StopIsAsDrawn) {
  std::set<Arrow> found;
  for (const std::string from : {"free_to_move", "stopped"}) {
    for (const std::string event : {"StopWorld", "ResumeWorld"}) {
      Controlled world;
      if (from == "stopped") world.Do("StopWorld");
      if (world.Do(event))
        found.insert({from, event, world.is_stopped() ? "stopped" : "free_to_move"});
    }
  }
  EXPECT_EQ(found, ReadDiagram("Stop"));
}

}  // namespace
}  // namespace pliant::server
