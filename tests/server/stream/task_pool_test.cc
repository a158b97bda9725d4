#include "server/stream/task_pool.h"

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include "gtest/gtest.h"

#include "tests/server/host/virtual_timeline.h"

namespace pliant::server {
namespace {

using std::chrono::milliseconds;

class Counted : public TaskPool::Task {
 public:
  explicit Counted(std::function<SteadyTime(SteadyTime)> job) : job_(std::move(job)) {}
  SteadyTime Run(SteadyTime now) override {
    ++runs;
    return job_(now);
  }
  std::atomic<int> runs{0};

 private:
  const std::function<SteadyTime(SteadyTime)> job_;
};

TEST(TaskPool, RunsATaskAtTheTimeItAskedForAndWhenWoken) {
  VirtualTimeline timeline;
  TaskPool pool(&timeline, 2);
  const auto task =
      std::make_shared<Counted>([](SteadyTime now) { return now + milliseconds(10); });
  pool.Add(task);
  timeline.RunFor(milliseconds(95));
  EXPECT_EQ(task->runs.load(), 10);
  pool.Wake(*task);
  timeline.RunFor(milliseconds(1));
  EXPECT_EQ(task->runs.load(), 11);
  pool.Remove(*task);
  timeline.RunFor(milliseconds(100));
  pool.Wake(*task);
  timeline.RunFor(milliseconds(100));
  EXPECT_EQ(task->runs.load(), 11);
}

TEST(TaskPool, TaskThatIsAlwaysReadyLeavesTurnsToOthers) {
  VirtualTimeline timeline;
  TaskPool pool(&timeline, 1);
  const auto greedy = std::make_shared<Counted>([](SteadyTime now) { return now; });
  const auto modest = std::make_shared<Counted>([](SteadyTime now) { return now; });
  pool.Add(greedy);
  pool.Add(modest);
  for (int i = 0; i < 100; ++i) {
    pool.Wake(*greedy);
    timeline.RunFor(milliseconds(1));
  }
  EXPECT_GT(modest->runs.load(), 1000);
  EXPECT_NEAR(greedy->runs.load(), modest->runs.load(), 0.1 * modest->runs.load());
}

TEST(TaskPool, WakesOfManyThreadsAreNotLostAndATaskRunsOnOneThreadAtATime) {
  TaskPool pool(&RealTimeline(), 3);
  std::atomic<int> inside{0}, seen{0}, wanted{0};
  std::atomic<bool> overlapped{false};
  const auto task = std::make_shared<Counted>([&](SteadyTime) {
    if (inside.fetch_add(1) != 0) overlapped = true;
    seen = wanted.load();
    inside.fetch_sub(1);
    return kNever;
  });
  pool.Add(task);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        ++wanted;
        pool.Wake(*task);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (seen.load() != 6000) std::this_thread::yield();
  pool.Stop();
  EXPECT_FALSE(overlapped.load());
}

}  // namespace
}  // namespace pliant::server
