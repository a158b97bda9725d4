// Steps over a stream, against a real pliantd.

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/clients/pliantd.h"

namespace pliant {
namespace {

using testing::HasSubstr;

v1::StepWorldRequest Push(const std::string& world, double force, int steps = 1) {
  v1::StepWorldRequest request;
  request.set_name(WorldName(world));
  request.set_steps(steps);
  v1::TargetCommand* command = request.add_commands();
  command->set_target("cube");
  for (const double f : {force, 0.0, 0.0}) command->mutable_wrench()->add_force(f);
  return request;
}

class LockstepStream : public PliantdTest {};

TEST_F(LockstepStream, StepsAsCallsDo) {
  Create("streamed");
  const World called = Create("called");
  Lockstep lockstep(client_);
  for (int k = 0; k < 20; ++k) {
    const auto here = lockstep.Step(Push("streamed", 0.1 * k, 1 + k % 3));
    const auto there = called.Step(Push("called", 0.1 * k, 1 + k % 3));
    ASSERT_TRUE(here.ok()) << here.status();
    ASSERT_TRUE(there.ok()) << there.status();
    EXPECT_EQ(here->step(), there->step());
    EXPECT_EQ(here->state_hash(), there->state_hash());
  }
  v1::StepWorldsRequest both;
  for (const char* name : {"worlds/streamed", "worlds/called"})
    both.mutable_batch()->add_names(name);
  const auto stepped = lockstep.Step(both);
  ASSERT_TRUE(stepped.ok()) << stepped.status();
  EXPECT_EQ(stepped->batch().state_hashes(0), stepped->batch().state_hashes(1));
}

TEST_F(LockstepStream, ContinuesAfterARefusal) {
  Create("lab");
  Lockstep lockstep(client_);
  ASSERT_TRUE(lockstep.Step(Push("lab", 0)).ok());
  const absl::Status unknown = lockstep.Step(Push("nowhere", 0)).status();
  EXPECT_TRUE(absl::IsNotFound(unknown)) << unknown;
  // a request that is refused as a whole ends the stream
  const absl::Status empty = lockstep.Step(v1::StepWorldsRequest()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(empty)) << empty;
  EXPECT_THAT(std::string(empty.message()), HasSubstr("requests: 0 are not allowed"));
  const auto next = lockstep.Step(Push("lab", 0));
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->step(), 2);
}

TEST_F(LockstepStream, IsCancelledBetweenTwoSteps) {
  const World world = Create("lab");
  Lockstep lockstep(client_);
  ASSERT_TRUE(lockstep.Step(Push("lab", 0)).ok());
  absl::Status ended;
  std::thread stepping([&] { ended = lockstep.Step(Push("lab", 0, 10'000'000)).status(); });
  ASSERT_TRUE(WaitUntil([&] { return world.Get()->step() > 1; }));
  client_->CancelAll();
  stepping.join();
  EXPECT_TRUE(absl::IsCancelled(ended)) << ended;
  // the server stops stepping, too
  ASSERT_TRUE(WaitUntil([&] { return world.Step().ok(); }));
  const auto next = lockstep.Step(Push("lab", 0));
  EXPECT_TRUE(next.ok()) << next.status();
}

TEST_F(LockstepStream, OpensAgainWhenTheServerIsBack) {
  Create("lab");
  Lockstep lockstep(client_);
  ASSERT_TRUE(lockstep.Step(Push("lab", 0)).ok());
  Kill();
  EXPECT_TRUE(absl::IsUnavailable(lockstep.Step(Push("lab", 0)).status()));
  Start();
  ASSERT_TRUE(WaitUntil([&] { return client_->CheckServer().ok(); }));
  Create("lab");
  const auto next = lockstep.Step(Push("lab", 0));
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->step(), 1);
}

TEST_F(LockstepStream, EndsWhenTheServerShutsDown) {
  const World world = Create("lab");
  Lockstep idle(client_), busy(client_);
  ASSERT_TRUE(idle.Step(Push("lab", 0)).ok());
  absl::Status ended;
  std::thread stepping([&] { ended = busy.Step(Push("lab", 0, 10'000'000)).status(); });
  ASSERT_TRUE(WaitUntil([&] { return world.Get()->step() > 1; }));
  const auto begun = std::chrono::steady_clock::now();
  pliantd_->Signal(SIGTERM);
  EXPECT_EQ(pliantd_->Wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(15));
  stepping.join();
  EXPECT_FALSE(ended.ok());
  EXPECT_FALSE(idle.Step(Push("lab", 0)).ok());
}

TEST_F(LockstepStream, StreamsOfOneWorldTakeTurns) {
  const World world = Create("lab");
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      Lockstep lockstep(client_);
      for (int k = 0; k < 20; ++k) EXPECT_TRUE(lockstep.Step(Push("lab", 0)).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world.Get()->step(), 60);
}

}  // namespace
}  // namespace pliant
