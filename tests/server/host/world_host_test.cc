#include "server/host/world_host.h"

#include <future>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"

#include "server/host/world_registry.h"
#include "tests/server/host/test_scene.h"
#include "tests/server/host/virtual_timeline.h"

namespace pliant::server {
namespace {

using Result = absl::StatusOr<std::shared_ptr<const Published>>;

constexpr std::chrono::seconds kTimeout{60};

// Commands nothing; may block the stepping thread.
class Idle : public StepController {
 public:
  explicit Idle(std::shared_future<void> gate = {}, std::atomic<bool>* entered = nullptr)
      : gate_(std::move(gate)), entered_(entered) {}
  physics::Inputs Advance(const physics::State&, SteadyTime) override {
    if (entered_ != nullptr) entered_->store(true);
    if (gate_.valid()) gate_.wait();
    return {};
  }
  void Drop(std::uint32_t /*epoch*/) override {}
  ControlStatus Describe(SteadyTime) override { return {}; }
  std::optional<SteadyTime> CalcNextChange() override { return std::nullopt; }

 private:
  std::shared_future<void> gate_;
  std::atomic<bool>* const entered_;
};

std::unique_ptr<WorldHost> MakeHost(const std::string& yaml = kTestScene,
                                    std::shared_future<void> gate = {}) {
  return std::make_unique<WorldHost>("w", physics::World(LoadTestModel(yaml)),
                                     std::make_unique<Idle>(std::move(gate)), &RealTimeline());
}

// A Done callback and the result it is called with.
struct Call {
  std::shared_ptr<std::promise<Result>> promise = std::make_shared<std::promise<Result>>();
  std::future<Result> future = promise->get_future();
  WorldHost::Done done() {
    return [promise = promise](Result result) { promise->set_value(std::move(result)); };
  }
  Result Wait() {
    if (future.wait_for(kTimeout) != std::future_status::ready)
      return absl::DeadlineExceededError("no answer");
    return future.get();
  }
};

Result Step(WorldHost& host, std::int64_t steps, CallLimits limits = {}) {
  Call call;
  host.Step(steps, limits, call.done());
  return call.Wait();
}

TEST(WorldHost, StepsAsALocalWorldDoes) {
  const auto host = MakeHost();
  const Result result = Step(*host, 12);
  ASSERT_TRUE(result.ok()) << result.status();
  physics::World local(LoadTestModel());
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(local.Step().ok());
  EXPECT_EQ(physics::HashState((*result)->snapshot->state), physics::HashState(local.state()));
}

TEST(WorldHost, ResetGoesBackAndRaisesTheEpoch) {
  const auto host = MakeHost();
  const std::string start = physics::HashState(host->latest()->snapshot->state);
  ASSERT_TRUE(Step(*host, 3).ok());
  Call call;
  host->Reset("tester", call.done());
  const Result result = call.Wait();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(physics::HashState((*result)->snapshot->state), start);
  EXPECT_EQ((*result)->epoch, 1u);
}

TEST(WorldHost, ForeignBytesAreRefusedAndChangeNothing) {
  const auto host = MakeHost();
  ASSERT_TRUE(Step(*host, 3).ok());
  const std::string before = physics::HashState(host->latest()->snapshot->state);
  const physics::World other(LoadTestModel(kFaultyScene));
  Call call;
  host->Restore(other.Save(), "tester", call.done());
  EXPECT_EQ(call.Wait().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(physics::HashState(host->latest()->snapshot->state), before);
  EXPECT_EQ(host->latest()->epoch, 0u);
}

TEST(WorldHost, StepThatDoesNotConvergePausesItWithAFault) {
  const auto host = MakeHost(kFaultyScene);
  const Result result = Step(*host, 100);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kAborted);
  const auto published = host->latest();
  ASSERT_TRUE(published->fault.has_value());
  EXPECT_EQ(published->fault->step, published->snapshot->state.step);
  EXPECT_LT(published->snapshot->state.step, 100);
  EXPECT_EQ(host->counters().faults, 1u);
  EXPECT_EQ(host->counters().not_converged, 1u);
  EXPECT_EQ(published->steps_not_converged, 1);
  // the step reports why it ended, and so does the fault
  const auto reason = published->snapshot->report.reason;
  EXPECT_NE(reason, solvers::StopReason::kConverged);
  EXPECT_NE(published->fault->reason.find(solvers::NameOf(reason)), std::string::npos);
  EXPECT_EQ(host->counters().totals.ended[static_cast<int>(reason)], 1);

  // a reset clears the count; the lifetime counter stays
  Call call;
  host->Reset("tester", call.done());
  ASSERT_TRUE(call.Wait().ok());
  EXPECT_EQ(host->latest()->steps_not_converged, 0);
  EXPECT_EQ(host->counters().not_converged, 1u);
}

TEST(WorldHost, CancelledStepEndsBetweenTwoSteps) {
  const auto host = MakeHost();
  const auto cancelled = std::make_shared<std::atomic<bool>>(true);
  EXPECT_EQ(Step(*host, 1000, {SteadyTime::max(), cancelled}).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_EQ(host->latest()->snapshot->state.step, 0);
  EXPECT_EQ(Step(*host, 1000, {std::chrono::steady_clock::now(), nullptr}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(WorldHost, NeverRunsAheadOfTheClock) {
  const auto host = MakeHost();
  const auto start = std::chrono::steady_clock::now();
  Call call;
  host->SetClock({ClockMode::Kind::kRealTime, 2}, "tester", call.done());
  ASSERT_TRUE(call.Wait().ok());
  double time = 0, elapsed = 0;
  while (time < 0.5) {
    time = host->latest()->snapshot->state.time;
    elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ASSERT_LE(time, 2 * elapsed + 2 * 0.01);
    ASSERT_LT(elapsed, 60);
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
}

TEST(WorldHost, MailboxIsBoundedAndEachRequestAnsweredOnce) {
  std::promise<void> gate;
  const auto host = MakeHost(kTestScene, gate.get_future().share());
  Call first;
  host->Step(1, {}, first.done());
  while (host->latest()->version > 1) std::this_thread::yield();

  std::vector<Call> calls(WorldHost::kMailboxCapacity + 10);
  for (Call& call : calls) host->Step(1, {}, call.done());
  int refused = 0;
  for (Call& call : calls) {
    if (call.future.wait_for(std::chrono::seconds(0)) != std::future_status::ready) continue;
    EXPECT_EQ(call.future.get().status().code(), absl::StatusCode::kResourceExhausted);
    ++refused;
  }
  EXPECT_GE(refused, 9);  // one may have left the mailbox for the gate

  // pending requests are answered when the world ends
  std::thread stop([&] { host->RequestStop(absl::NotFoundError("deleted")); });
  stop.join();
  gate.set_value();
  host->Join();
  int ended = 0;
  for (Call& call : calls) {
    if (call.future.valid() && call.Wait().status().code() == absl::StatusCode::kNotFound) ++ended;
  }
  EXPECT_EQ(ended + refused, static_cast<int>(calls.size()));
}

// Starts a request of so many steps that only another request can end it.
Call StepForLong(WorldHost& host) {
  Call call;
  host.Step(WorldHost::kMaxSteps, {}, call.done());
  while (host.latest()->clock.kind != ClockMode::Kind::kStepping) std::this_thread::yield();
  return call;
}

// A world takes a request at the moment at which it is stopped in some of these runs.
TEST(WorldHost, StopAnswersARequestThatIsBeingTaken) {
  constexpr int kHosts = 400, kRequests = 40;
  for (int k = 0; k < kHosts; ++k) {
    std::atomic<int> answers = 0;
    {
      const auto host = MakeHost();
      std::thread sender([&] {
        for (int i = 0; i < kRequests; ++i) host->Read([&](const Result&) { ++answers; });
      });
      while (answers < k % kRequests) std::this_thread::yield();
      host->RequestStop(absl::CancelledError("stopped"));
      sender.join();
    }
    ASSERT_EQ(answers, kRequests) << "of world " << k;
  }
}

TEST(WorldHost, PauseResetAndRestoreEndARequestToStepAndSayByWhom) {
  const auto host = MakeHost();
  const std::string start = physics::World(LoadTestModel()).Save();
  const std::vector<std::pair<const char*, std::function<void(WorldHost::Done)>>> requests = {
      {"paused by alice", [&](auto done) { host->SetClock({}, "alice", done); }},
      {"reset by bob", [&](auto done) { host->Reset("bob", done); }},
      {"restored by carol", [&](auto done) { host->Restore(start, "carol", done); }},
      {"set running by dave", [&](auto done) {
         host->SetClock({ClockMode::Kind::kRealTime, 1}, "dave", done);
       }}};
  for (const auto& [text, request] : requests) {
    Call stepping = StepForLong(*host);
    Call call;
    request(call.done());
    ASSERT_TRUE(call.Wait().ok()) << text;
    const absl::Status ended = stepping.Wait().status();
    EXPECT_EQ(ended.code(), absl::StatusCode::kAborted) << text;
    EXPECT_NE(ended.message().find(text), std::string::npos) << ended;
    EXPECT_NE(ended.message().find(" of 10000000 steps"), std::string::npos) << ended;
  }
}

Quotas AtMost(int worlds) {
  return {.server = {.worlds = worlds}};
}

TEST(WorldHost, DeletionEndsARequestToStepAndSaysByWhom) {
  WorldRegistry registry({AtMost(2), [](auto) { return std::make_unique<Idle>(); }});
  const auto host = registry.Open(*registry.Reserve("a"), physics::World(LoadTestModel()));
  ASSERT_TRUE(host.ok());
  Call stepping = StepForLong(**host);
  std::promise<void> ended;
  ASSERT_TRUE(registry.Remove("a", "erin", [&] { ended.set_value(); }).ok());
  const absl::Status status = stepping.Wait().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_NE(status.message().find("deleted by erin"), std::string::npos) << status;
  ended.get_future().wait();
}

TEST(WorldHost, StateIsReadBetweenTwoStepsOfARequest) {
  const auto host = MakeHost();
  Call stepping = StepForLong(*host);
  Call read;
  host->Read(read.done());
  EXPECT_TRUE(read.Wait().ok());
  EXPECT_EQ(stepping.future.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  EXPECT_EQ(host->latest()->clock.kind, ClockMode::Kind::kStepping);
}

// Requests steps from a thread that lends itself; true if that thread made the last one.
bool StepsOnLentThread(WorldHost& host, Lent lent = Lent::kQuickSteps, int steps = 1) {
  // the world's own thread has answered the request before, but may not have left it yet
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::promise<std::thread::id> made;
  host.Step(steps, {}, [&](const Result&) { made.set_value(std::this_thread::get_id()); }, nullptr,
            {"ann", nullptr, lent});
  return made.get_future().get() == std::this_thread::get_id();
}

TEST(WorldHost, QuickStepsAreMadeByTheThreadThatLendsItself) {
  constexpr char kSmall[] =
      "bodies: [{name: ball, rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: "
      "1}}]}}]";
  const auto host = MakeHost(kSmall);
  int steps = 1;
  for (; !StepsOnLentThread(*host); ++steps) ASSERT_LT(steps, 10'000);  // on a busy machine
  EXPECT_GT(steps, 1) << "it is not known yet that its steps are quick";
  physics::World local(LoadTestModel(kSmall));
  for (int i = 0; i < steps; ++i) ASSERT_TRUE(local.Step().ok());
  EXPECT_EQ(physics::HashState(host->latest()->snapshot->state), physics::HashState(local.state()));
}

TEST(WorldHost, StepsThatMayTakeLongAreMadeByTheWorldsOwnThread) {
  const auto host = MakeHost();
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(StepsOnLentThread(*host));
  // a thread that others can wait for makes them, unless they are many
  int requests = 0;
  while (!StepsOnLentThread(*host, Lent::kShortSteps, 4)) ASSERT_LT(++requests, 1000);
  EXPECT_FALSE(StepsOnLentThread(*host, Lent::kShortSteps, 10'000));
}

TEST(WorldHost, RequestsToStepAreServedOneAfterTheOther) {
  const auto host = MakeHost();
  std::vector<Call> calls(5);
  for (Call& call : calls) host->Step(3, {}, call.done());
  for (int i = 0; i < 5; ++i) {
    const Result result = calls[i].Wait();
    ASSERT_TRUE(result.ok());
    EXPECT_EQ((*result)->snapshot->state.step, 3 * (i + 1));
  }
  EXPECT_EQ(host->latest()->clock.kind, ClockMode::Kind::kPaused);
}

TEST(WorldHost, WaitingRequestsReceiveTheNumberAheadOfThem) {
  const auto host = MakeHost();
  Call first, second, third;
  std::atomic<int> second_ahead{0}, third_ahead{0};
  host->Step(WorldHost::kMaxSteps, {}, first.done(), nullptr, {"ann", nullptr});
  host->Step(1, {}, second.done(), nullptr, {"bob", [&](int count) { second_ahead = count; }});
  host->Step(1, {}, third.done(), nullptr, {"cem", [&](int count) { third_ahead = count; }});
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  ClockMode clock;
  do {
    std::this_thread::yield();
    clock = host->latest()->clock;
  } while (clock.waiting < 2 && std::chrono::steady_clock::now() < end);
  EXPECT_EQ(clock.kind, ClockMode::Kind::kStepping);
  EXPECT_EQ(clock.client, "ann");
  EXPECT_EQ(clock.waiting, 2);
  EXPECT_EQ(second_ahead.load(), 1);
  EXPECT_EQ(third_ahead.load(), 2);
  Call pause;
  host->SetClock({}, "dora", pause.done());
  EXPECT_TRUE(pause.Wait().ok());
  EXPECT_EQ(host->latest()->clock.waiting, 0);
}

TEST(WorldHost, WaitingRequestToStepEndsAtItsOwnDeadline) {
  const auto host = MakeHost();
  Call stepping = StepForLong(*host);
  const SteadyTime soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  EXPECT_EQ(Step(*host, 1, {soon, nullptr}).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(stepping.future.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
}

WorldRegistry::Options RegistryOptions() {
  return {AtMost(4), [](auto) { return std::make_unique<Idle>(); }};
}

TEST(WorldRegistry, IdsAreLowerCaseLettersDigitsAndDashes) {
  for (const char* good : {"a", "a-1", "0", "default"})
    EXPECT_TRUE(CheckWorldId(good).ok()) << good;
  EXPECT_TRUE(CheckWorldId(std::string(63, 'x')).ok());
  for (const char* bad : {"", "A", "a/b", "a b", "ä", "a_b", ".."})
    EXPECT_FALSE(CheckWorldId(bad).ok()) << bad;
  EXPECT_FALSE(CheckWorldId(std::string(64, 'x')).ok());
}

TEST(WorldRegistry, ReservedIdIsTakenUntilItsSceneFails) {
  WorldRegistry registry(RegistryOptions());
  {
    const auto held = registry.Reserve("a");
    ASSERT_TRUE(held.ok());
    EXPECT_EQ(registry.Reserve("a").status().code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(registry.Get("a").status().code(), absl::StatusCode::kNotFound);
  }
  EXPECT_TRUE(registry.Reserve("a").ok());
}

TEST(WorldRegistry, HoldsNoMoreThanItsLimitAndPicksFreeNames) {
  WorldRegistry registry(RegistryOptions());
  for (int i = 0; i < 4; ++i) {
    auto held = registry.Reserve("");
    ASSERT_TRUE(held.ok()) << held.status();
    ASSERT_TRUE(registry.Open(*std::move(held), physics::World(LoadTestModel())).ok());
  }
  EXPECT_EQ(registry.Reserve("").status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(registry.List().size(), 4u);
  std::promise<void> ended;
  ASSERT_TRUE(registry.Remove("world-1", "tester", [&] { ended.set_value(); }).ok());
  EXPECT_EQ(registry.Remove("world-1", "tester", [] {}).code(), absl::StatusCode::kNotFound);
  ended.get_future().wait();
  EXPECT_TRUE(registry.Reserve("").ok());
}

TEST(WorldRegistry, WorldsUnderConstructionDoNotTakeEveryId) {
  WorldRegistry registry(RegistryOptions());
  auto first = registry.Reserve("");
  auto second = registry.Reserve("");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(first->id(), second->id());
  const absl::Status third = registry.Reserve("").status();
  EXPECT_EQ(third.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(third.message().find("2 worlds are being built"), std::string::npos) << third;
  ASSERT_TRUE(registry.Open(*std::move(first), physics::World(LoadTestModel())).ok());
  EXPECT_TRUE(registry.Reserve("").ok());
}

// A step may take seconds, and a network thread has other clients.
TEST(WorldRegistry, WorldsOfEqualContentShareTheirModel) {
  WorldRegistry registry(RegistryOptions());
  const auto first = LoadTestModel(), second = LoadTestModel();
  ASSERT_NE(first, second);
  EXPECT_EQ(registry.Share(first), first);
  ASSERT_TRUE(registry.Open(*registry.Reserve("a"), physics::World(first)).ok());
  EXPECT_EQ(registry.Share(second), first);
  // equal results, but another name
  const auto other =
      LoadTestModel(absl::StrReplaceAll(kTestScene, {{"name: bench", "name: desk"}}));
  ASSERT_EQ(other->hash, first->hash);
  EXPECT_EQ(registry.Share(other), other);
  std::promise<void> ended;
  ASSERT_TRUE(registry.Remove("a", "tester", [&] { ended.set_value(); }).ok());
  ended.get_future().wait();
  EXPECT_EQ(registry.Share(second), second);
}

TEST(WorldRegistry, RemovalDoesNotWaitForTheStepOfItsWorld) {
  std::promise<void> gate;
  std::atomic<bool> entered{false};
  WorldRegistry registry({AtMost(2), [&, go = gate.get_future().share()](auto) {
                            return std::make_unique<Idle>(go, &entered);
                          }});
  ASSERT_TRUE(registry
                  .Open(*registry.Reserve("a"), physics::World(LoadTestModel()),
                        {ClockMode::Kind::kFreeRun, 1})
                  .ok());
  while (!entered.load()) std::this_thread::yield();
  std::promise<void> ended;
  ASSERT_TRUE(registry.Remove("a", "tester", [&] { ended.set_value(); }).ok());
  std::future<void> end = ended.get_future();
  EXPECT_EQ(end.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_TRUE(registry.List().empty());
  gate.set_value();
  end.wait();
}

// If the first frame showed the world as paused, a user pressing run at once would pause it.
TEST(WorldRegistry, OpensAWorldThatRunsFromItsFirstFrame) {
  std::promise<void> gate;
  WorldRegistry registry(
      {AtMost(1), [go = gate.get_future().share()](auto) { return std::make_unique<Idle>(go); }});
  const auto host = registry.Open(*registry.Reserve("a"), physics::World(LoadTestModel()),
                                  {ClockMode::Kind::kRealTime, 1});
  ASSERT_TRUE(host.ok());
  const std::shared_ptr<const Published> first = (*host)->latest();  // no step is done yet
  EXPECT_EQ(first->snapshot->state.step, 0);
  EXPECT_EQ(first->clock.kind, ClockMode::Kind::kRealTime);
  gate.set_value();
}

TEST(WorldRegistry, DegreesOfFreedomOfAllWorldsAreBounded) {
  const int dofs = LoadTestModel()->velocity_offsets.back();
  WorldRegistry registry({{.server = {.worlds = 8, .dofs = 2 * dofs + 1}},
                          [](auto) { return std::make_unique<Idle>(); }});
  const auto open = [&] {
    return registry.Open(*registry.Reserve(""), physics::World(LoadTestModel())).status();
  };
  EXPECT_TRUE(open().ok());
  EXPECT_TRUE(open().ok());
  const absl::Status full = open();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  const std::string need = absl::StrCat("has ", dofs, " degrees of freedom");
  EXPECT_NE(full.message().find(need), std::string::npos) << full;
  EXPECT_NE(full.message().find("has 1 of its"), std::string::npos) << full;
  std::promise<void> ended;
  ASSERT_TRUE(registry.Remove("world-1", "tester", [&] { ended.set_value(); }).ok());
  ended.get_future().wait();
  EXPECT_TRUE(open().ok());
}

WorldSettings OwnedBy(const std::string& owner) {
  WorldSettings settings;
  settings.owner = owner;
  return settings;
}

TEST(WorldRegistry, UsersHaveQuotasOfTheirOwn) {
  const std::int64_t dofs = LoadTestModel()->velocity_offsets.back();
  WorldRegistry registry({{.server = {.worlds = 8}, .user = {.worlds = 3, .dofs = 2 * dofs}},
                          [](auto) { return std::make_unique<Idle>(); }});
  const auto open = [&](const std::string& owner) {
    auto held = registry.Reserve("", OwnedBy(owner));
    if (!held.ok()) return held.status();
    return registry.Open(*std::move(held), physics::World(LoadTestModel()), {}, OwnedBy(owner))
        .status();
  };
  EXPECT_TRUE(open("ann").ok());
  EXPECT_TRUE(open("ann").ok());
  const absl::Status full = open("ann");
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(full.message().find("ann has 0 of its"), std::string::npos) << full;
  EXPECT_TRUE(open("bob").ok());
  // a creation counts from its beginning
  const auto held = registry.Reserve("", OwnedBy("bob")),
             more = registry.Reserve("", OwnedBy("bob"));
  ASSERT_TRUE(held.ok() && more.ok());
  const absl::Status many = registry.Reserve("", OwnedBy("bob")).status();
  EXPECT_EQ(many.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(many.message().find("bob has 3 worlds"), std::string::npos) << many;
}

TEST(WorldRegistry, NewQuotasHoldForFurtherWorlds) {
  WorldRegistry registry(RegistryOptions());
  const auto open = [&] {
    return registry.Open(*registry.Reserve(""), physics::World(LoadTestModel())).status();
  };
  EXPECT_TRUE(open().ok());
  registry.SetQuotas({.server = {.worlds = 4}, .world = {.memory = 1}});
  const absl::Status large = open();
  EXPECT_EQ(large.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(large.message().find("a world has 1 of its 1"), std::string::npos) << large;
  registry.SetQuotas(AtMost(4));
  EXPECT_TRUE(open().ok());
}

TEST(WorldRegistry, CancelledCreationFreesItsIdAndOpensNothing) {
  WorldRegistry registry(RegistryOptions());
  auto held = registry.Reserve("a", OwnedBy("ann"));
  ASSERT_TRUE(held.ok());
  held->creation().Report(0.5);
  const auto creation = registry.FindCreation("a");
  ASSERT_NE(creation, nullptr);
  EXPECT_EQ(creation->progress(), 0.5);
  EXPECT_EQ(creation->settings().owner, "ann");
  EXPECT_TRUE(registry.CancelCreation("a", "bob").ok());
  EXPECT_EQ(registry.CancelCreation("a", "bob").code(), absl::StatusCode::kNotFound);
  const auto next = registry.Reserve("a");
  EXPECT_TRUE(next.ok());
  const absl::Status ended =
      registry.Open(*std::move(held), physics::World(LoadTestModel())).status();
  EXPECT_EQ(ended.code(), absl::StatusCode::kAborted);
  EXPECT_NE(ended.message().find("ended by bob"), std::string::npos) << ended;
  EXPECT_NE(registry.FindCreation("a"), nullptr);  // the next one continues
}

TEST(WorldRegistry, IdleWorldIsDeletedAndAUsedOneIsNot) {
  VirtualTimeline timeline;
  WorldRegistry registry({AtMost(4), [](auto) { return std::make_unique<Idle>(); }, &timeline});
  WorldSettings settings;
  settings.idle_timeout = std::chrono::seconds(10);
  std::shared_ptr<WorldHost> used;
  for (const char* id : {"idle", "used", "lasting"}) {
    const bool lasts = std::string(id) == "lasting";
    const auto host = registry.Open(*registry.Reserve(id), physics::World(LoadTestModel()), {},
                                    lasts ? WorldSettings() : settings);
    ASSERT_TRUE(host.ok());
    if (std::string(id) == "used") used = *host;
  }
  for (int second = 0; second < 30; ++second) {
    timeline.RunFor(std::chrono::seconds(1));
    used->Use(timeline.Now());
    EXPECT_EQ(registry.Get("idle").ok(), second < 9) << second;
  }
  EXPECT_TRUE(registry.Get("used").ok());
  EXPECT_TRUE(registry.Get("lasting").ok());
  timeline.RunFor(std::chrono::seconds(11));
  EXPECT_FALSE(registry.Get("used").ok());
  EXPECT_NE(used->stop_reason().message().find("idle timeout of 10 s"), std::string::npos);
}

TEST(WorldRegistry, OpensNothingOnceClosed) {
  WorldRegistry registry(RegistryOptions());
  auto held = registry.Reserve("a");
  registry.Close(absl::UnavailableError("draining"));
  EXPECT_EQ(registry.Open(*std::move(held), physics::World(LoadTestModel())).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(registry.Reserve("b").status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace pliant::server
