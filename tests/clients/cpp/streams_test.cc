// Subscriptions, leases and streams of commands, against a real pliantd.

#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "tests/clients/pliantd.h"

namespace pliant {
namespace {

using testing::HasSubstr;

class Streams : public PliantdTest {
 protected:
  static v1::Subscription At(double rate) {
    v1::Subscription subscription;
    subscription.set_rate(rate);
    return subscription;
  }
};

TEST_F(Streams, HaveTheWorldAsItIs) {
  const World world = Create("lab");
  v1::Subscription wanted = At(100);
  wanted.add_fields(v1::FIELD_MEASURE_VON_MISES_STRAIN);
  wanted.add_probes("cube_p");
  wanted.set_contacts(true);
  const auto subscription = world.Subscribe(wanted);
  ASSERT_TRUE(subscription.ok()) << subscription.status();
  Frame frame;
  ASSERT_TRUE((*subscription)->WaitForFrame(&frame, kTimeout).ok());
  const DescriptionPtr description = (*subscription)->description();
  const int ball = description->FindDeformable("ball").value();
  const int cube = description->FindRigid("cube").value();
  EXPECT_TRUE(frame.is_keyframe);
  EXPECT_NEAR(frame.deformables[ball].positions().row(0).mean(), 0.3, 0.01);
  EXPECT_NEAR(frame.rigid[cube].p_WB().z(), 0.05, 1e-6);
  const FieldState* strain = frame.deformables[ball].Find(v1::FIELD_MEASURE_VON_MISES_STRAIN);
  ASSERT_NE(strain, nullptr);
  EXPECT_EQ(strain->matrix().cols(), frame.deformables[ball].positions().cols());
  EXPECT_EQ(frame.probes[0].size(), 3u);

  // bodies that a frame omits keep their latest state
  ASSERT_TRUE(world.Run().ok());
  ASSERT_TRUE(WaitUntil([&] { return (*subscription)->TakeLatest(&frame) && frame.step > 20; }));
  EXPECT_TRUE(frame.rigid[description->FindRigid("table").value()].is_known);
  EXPECT_EQ(frame.clock, ClockMode::kRealTime);
  EXPECT_LT(frame.deformables[ball].positions().row(2).mean(), 0.06);
  EXPECT_GT(frame.ParseReport().step(), 0);
}

TEST_F(Streams, OneCallbackThatBlocksHoldsUpNoOther) {
  const World world = Create("lab");
  ASSERT_TRUE(world.Run().ok());
  std::mutex gate;
  std::atomic<int> blocked{0}, frames{0};
  gate.lock();
  auto stalled = world.Subscribe(At(100), [&](const Frame&, const Description&) {
    ++blocked;
    const std::lock_guard lock(gate);
  });
  auto free = world.Subscribe(At(100), [&](const Frame&, const Description&) { ++frames; });
  ASSERT_TRUE(stalled.ok() && free.ok());
  EXPECT_TRUE(WaitUntil([&] { return blocked > 0 && frames > 20; }));
  EXPECT_EQ(blocked, 1);
  EXPECT_TRUE((*stalled)->status().ok());
  gate.unlock();
}

TEST_F(Streams, ACallbackThatThrowsEndsItsOwnSubscription) {
  const World world = Create("lab");
  std::atomic<int> frames{0};
  auto thrown = world.Subscribe(
      At(100), [](const Frame&, const Description&) { throw std::runtime_error("of no use"); });
  auto other = world.Subscribe(At(100), [&](const Frame&, const Description&) { ++frames; });
  ASSERT_TRUE(thrown.ok() && other.ok());
  const absl::Status end = (*thrown)->Wait();
  EXPECT_TRUE(absl::IsInternal(end));
  EXPECT_THAT(std::string(end.message()), HasSubstr("of no use"));
  EXPECT_TRUE(WaitUntil([&] { return frames > 1; }));
  EXPECT_TRUE((*other)->status().ok());
}

TEST_F(Streams, EndWithTheirWorld) {
  const World world = Create("lab");
  auto subscription = world.Subscribe(At(60));
  ASSERT_TRUE(subscription.ok());
  Frame frame;
  ASSERT_TRUE((*subscription)->WaitForFrame(&frame, kTimeout).ok());
  ASSERT_TRUE(world.Delete().ok());
  EXPECT_FALSE((*subscription)->Wait().ok());
  EXPECT_FALSE(absl::IsCancelled((*subscription)->status())) << (*subscription)->status();
}

TEST_F(Streams, WhoseFramesWouldBeTooLargeEndWithWhatFits) {
  const World world = Create("plate", R"(name: plate
bodies:
  - name: plate
    deformable:
      mesh: {box: {size: [1, 1, 0.01]}, edge_length: 0.008}
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, poissons_ratio: 0.4,
          density: 1000}
)");
  v1::Subscription request;
  request.set_precision(v1::PRECISION_FLOAT64);
  for (const v1::FieldMeasure field :
       {v1::FIELD_MEASURE_GREEN_STRAIN, v1::FIELD_MEASURE_CAUCHY_STRESS,
        v1::FIELD_MEASURE_PRINCIPAL_STRETCHES, v1::FIELD_MEASURE_CONTACT_TRACTION,
        v1::FIELD_MEASURE_VELOCITY})
    request.add_fields(field);
  const auto subscription = world.Subscribe(request);
  ASSERT_TRUE(subscription.ok()) << subscription.status();
  const absl::Status end = (*subscription)->Wait();
  EXPECT_TRUE(absl::IsResourceExhausted(end)) << end;
  EXPECT_THAT(std::string(end.message()), HasSubstr("fits"));
  EXPECT_EQ((*subscription)->reconnects(), 0);
  request.set_precision(v1::PRECISION_COMPACT);
  const auto smaller = world.Subscribe(request);
  Frame frame;
  EXPECT_TRUE((*smaller)->WaitForFrame(&frame, std::chrono::seconds(20)).ok());
}

TEST_F(Streams, GoOnSoonAfterTheServerCameBack) {
  const World world = Create("lab", kScene, true);
  ASSERT_TRUE(world.Step(7).ok());
  auto subscription = world.Subscribe(At(60));
  ASSERT_TRUE(subscription.ok());
  Frame frame;
  ASSERT_TRUE((*subscription)->WaitForFrame(&frame, kTimeout).ok());
  Kill();
  ASSERT_TRUE(WaitUntil([&] { return absl::IsUnavailable(world.Get().status()); }));
  while ((*subscription)->TakeLatest(&frame)) continue;
  Start();
  const auto listens_at = std::chrono::steady_clock::now();
  const absl::Status status = (*subscription)->WaitForFrame(&frame, kTimeout);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - listens_at;
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(frame.step, 7);
  EXPECT_LT(waited.count(), 5);  // about 1 s on an idle machine
  EXPECT_GE((*subscription)->reconnects(), 1);
}

TEST_F(Streams, AskForTheDescriptionAgainWhenTheWorldIsAnotherOne) {
  const std::string lab = WriteFile("lab.yaml", kScene);
  const std::string stone = WriteFile("stone.yaml",
                                      "bodies: [{name: stone, rigid: {motion: FREE, density: 1, "
                                      "shapes: [{sphere: {radius: 1}}]}}]\n");
  Kill();
  Start({"--scene", lab});
  const World world = client_->GetWorld("default");
  ASSERT_TRUE(WaitUntil([&] { return world.Get().ok(); }));
  auto subscription = world.Subscribe(At(60));
  ASSERT_TRUE(subscription.ok()) << subscription.status();
  Frame frame;
  ASSERT_TRUE((*subscription)->WaitForFrame(&frame, kTimeout).ok());
  const std::string before = (*subscription)->description()->model_hash();
  Kill();
  while ((*subscription)->TakeLatest(&frame)) continue;
  Start({"--scene", stone});
  const absl::Status status = (*subscription)->WaitForFrame(&frame, kTimeout);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_NE((*subscription)->description()->model_hash(), before);
  EXPECT_EQ(frame.rigid.size(), 1u);
  EXPECT_TRUE(frame.deformables.empty());
}

TEST_F(Streams, CommandsMoveAJointAndTheirLatencyIsMeasured) {
  const World world = CreateArm("arm");
  ASSERT_TRUE(world.Run().ok());
  auto subscription = world.Subscribe(At(50));
  ASSERT_TRUE(subscription.ok());
  Frame frame;
  // A busy machine may stall for longer than a lease lasts, hence several attempts.
  bool was_kept = false;
  for (int attempt = 0; attempt < 5 && !was_kept; ++attempt) {
    auto lease = world.Acquire("arm");
    ASSERT_TRUE(lease.ok()) << lease.status();
    auto commands = world.Command(*std::move(lease));
    ASSERT_TRUE(commands.ok()) << commands.status();
    const double goal = 0.5 - 0.1 * attempt;
    if (!(*commands)->SendJointTargets({"turn"}, {goal}).ok()) continue;
    if (!(*commands)->WaitForAnswer(1, kTimeout).ok()) continue;
    EXPECT_TRUE((*commands)->last_response().refused().empty());
    EXPECT_GT((*commands)->latency().median, 0);
    // the heartbeat keeps the lease for longer than a second without commands
    const double begun = world.Get()->time();
    was_kept = WaitUntil([&] {
                 return !(*commands)->status().ok() ||
                        ((*subscription)->TakeLatest(&frame) && frame.time > begun + 3 &&
                         std::abs(frame.joints.positions(0) - goal) < 0.01);
               }) &&
               (*commands)->status().ok();
    if (!was_kept) continue;
    EXPECT_EQ(frame.command_count, 1);
    EXPECT_EQ(frame.commands[0].client(), "test");
  }
  EXPECT_TRUE(was_kept);
}

TEST_F(Streams, ATakeoverEndsTheStreamWithItsReason) {
  const World world = CreateArm("arm");
  ASSERT_TRUE(world.Run().ok());
  auto commands = world.Command(world.Acquire("arm").value());
  ASSERT_TRUE(commands.ok());
  ASSERT_TRUE((*commands)->SendJointTargets({"turn"}, {0.1}).ok());
  const auto refused = world.Acquire("arm");
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("driven by test"));
  auto other = world.Acquire("arm", {.takeover = true});
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_TRUE(WaitUntil([&] { return !(*commands)->status().ok(); }));
  EXPECT_THAT(std::string((*commands)->status().message()), HasSubstr("taken over by test"));
  EXPECT_FALSE((*commands)->SendJointTargets({"turn"}, {0.2}).ok());
}

TEST_F(Streams, ABrokenConnectionEndsTheCommandsAndNothingIsRepeated) {
  const World world = CreateArm("arm");
  ASSERT_TRUE(world.Run().ok());
  auto commands = world.Command(world.Acquire("arm").value());
  ASSERT_TRUE((*commands)->SendJointTargets({"turn"}, {0.1}).ok());
  ASSERT_TRUE((*commands)->WaitForAnswer(1, kTimeout).ok());
  Kill();
  ASSERT_TRUE(WaitUntil([&] { return !(*commands)->status().ok(); }));
  EXPECT_TRUE(absl::IsUnavailable((*commands)->status())) << (*commands)->status();
  Start();
  EXPECT_TRUE(absl::IsUnavailable((*commands)->SendJointTargets({"turn"}, {0.1})));
  EXPECT_FALSE((*commands)->lease().status().ok());
}

// The server also releases a lease when its command stream ends, which may be before or after the
// request of the client.
TEST_F(Streams, ClosingThemIsNoErrorWhoeverGivesTheLeaseBackFirst) {
  const World world = CreateArm("arm");
  for (int i = 0; i < 50; ++i) {
    auto lease = world.Acquire("arm");
    ASSERT_TRUE(lease.ok()) << i << ": " << lease.status();
    const auto commands = world.Command(*std::move(lease));
    ASSERT_TRUE(commands.ok()) << commands.status();
    ASSERT_TRUE((*commands)->SendJointTargets({"turn"}, {0.0}).ok());
    ASSERT_TRUE((*commands)->WaitForAnswer(1, std::chrono::seconds(2)).ok());
    const absl::Status closed = (*commands)->Close();
    EXPECT_TRUE(closed.ok()) << i << ": " << closed;
  }
}

TEST_F(Streams, AReleasedLeaseIsFreeAtOnce) {
  const World world = CreateArm("arm");
  {
    auto held = world.Acquire("arm");
    ASSERT_TRUE(held.ok());
  }
  auto again = world.Acquire("arm");
  EXPECT_TRUE(again.ok()) << again.status();
}

TEST_F(Streams, NumbersThatAreNotFiniteAreNotSent) {
  const World world = CreateArm("arm");
  auto commands = world.Command(world.Acquire("arm").value());
  const absl::Status status =
      (*commands)->SendJointTargets({"turn"}, {std::numeric_limits<double>::quiet_NaN()});
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("joint_targets.values[0]"));
  EXPECT_EQ((*commands)->last_sequence(), 0u);
}

}  // namespace
}  // namespace pliant
