#include "server/host/timeline.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace pliant::server {
namespace {

using std::chrono::milliseconds;

TEST(Timeline, JobIsNotRunByTwoThreadsAtOnceAndNoWakeIsLost) {
  std::atomic<int> running{0}, overlaps{0}, asked{0}, seen{0};
  const auto worker = RealTimeline().Start(
      [&] {
        if (running.fetch_add(1) != 0) overlaps.fetch_add(1);
        seen.store(asked.load());
        running.fetch_sub(1);
        return kNever;
      },
      {});
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 2000; ++k) {
        asked.fetch_add(1);
        if (i == 0 || !worker->TryRun()) worker->Wake();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (seen.load() < 6000) std::this_thread::yield();
  worker->Stop();
  EXPECT_EQ(overlaps.load(), 0);
}

TEST(Timeline, WorkerRunsAgainAtTheTimeThatARunOnAnotherThreadAskedFor) {
  std::atomic<int> runs{0};
  const auto worker = RealTimeline().Start(
      [&] { return runs.fetch_add(1) == 1 ? RealTimeline().Now() + milliseconds(20) : kNever; },
      {});
  while (runs.load() < 1 || !worker->TryRun()) std::this_thread::yield();
  while (runs.load() < 3) std::this_thread::yield();
  worker->Stop();
}

TEST(Timeline, ARunOnAnotherThreadGoesOnWhileTheJobIsDue) {
  std::atomic<int> runs{0}, on_caller{0};
  const auto caller = std::this_thread::get_id();
  const auto worker = RealTimeline().Start(
      [&] {
        on_caller += std::this_thread::get_id() == caller ? 1 : 0;
        // due again at once, except after the first, the fourth and the sixth run
        const int run = ++runs;
        return run == 1 || run == 4 || run == 6 ? kNever : RealTimeline().Now();
      },
      {});
  while (runs.load() < 1 || !worker->TryRun(3)) std::this_thread::yield();
  EXPECT_EQ(on_caller.load(), 3);  // runs 2 to 4
  EXPECT_TRUE(worker->TryRun(10));
  EXPECT_EQ(on_caller.load(), 5);  // not all ten
  worker->Stop();
  EXPECT_EQ(runs.load(), 6);
}

TEST(Timeline, StopWaitsForARunOnAnotherThread) {
  std::promise<void> entered, leave;
  std::atomic<bool> blocks{false}, left{false};
  const auto worker = RealTimeline().Start(
      [&, gate = leave.get_future().share()] {
        if (!blocks.exchange(false)) return kNever;
        entered.set_value();
        gate.wait();
        left.store(true);
        return kNever;
      },
      {});
  while (!worker->TryRun()) std::this_thread::yield();  // the first run is over
  blocks.store(true);
  std::thread runner([&] { EXPECT_TRUE(worker->TryRun()); });
  entered.get_future().wait();
  EXPECT_FALSE(worker->TryRun());
  std::thread stopper([&] {
    worker->Stop();
    EXPECT_TRUE(left.load());
  });
  std::this_thread::sleep_for(milliseconds(20));
  leave.set_value();
  stopper.join();
  runner.join();
  EXPECT_FALSE(worker->TryRun());
}

}  // namespace
}  // namespace pliant::server
