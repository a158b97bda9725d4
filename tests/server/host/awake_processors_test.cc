#include "server/host/awake_processors.h"

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <set>
#include <thread>

#include "gtest/gtest.h"

#include "tests/server/host/spinning_threads.h"

namespace pliant::server {
namespace {

// Threads of idle priority may need long to start on a busy machine.
constexpr std::chrono::seconds kAwakeTimeout{120};
constexpr std::chrono::milliseconds kPause{20};

int CountAllowed() {
  cpu_set_t allowed;
  EXPECT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  return std::min(CPU_COUNT(&allowed), AwakeProcessors::kMaxProcessors);
}

// Reports requests and replies until `count` processors are awake.
bool StepUntilAwake(AwakeProcessors* awake, int count) {
  const auto end = std::chrono::steady_clock::now() + kAwakeTimeout;
  while (awake->CountAwake() != count) {
    awake->OnRequest();
    awake->OnReply();
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(AwakeProcessors, RequestsFarApartWakeNone) {
  AwakeProcessors awake(&RealTimeline(), kPause);
  for (int i = 0; i < 5; ++i) {
    awake.OnRequest();
    awake.OnReply();
    EXPECT_EQ(awake.CountAwake(), 0);
    std::this_thread::sleep_for(kPause);
    EXPECT_EQ(awake.CountAwake(), 0);
  }
}

TEST(AwakeProcessors, AllAreAwakeWhileRequestsFollowEachOtherAndNoneAfterwards) {
  AwakeProcessors awake(&RealTimeline(), kPause);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(StepUntilAwake(&awake, CountAllowed()));
    const auto end = std::chrono::steady_clock::now() + kAwakeTimeout;
    while (awake.CountAwake() > 0) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::sleep_for(kPause / 4);
    }
  }
}

TEST(AwakeProcessors, ThreadsGiveWayToAllOthersAndEachStaysOnAProcessorOfItsOwn) {
  AwakeProcessors awake(&RealTimeline(), kPause);
  ASSERT_TRUE(StepUntilAwake(&awake, CountAllowed()));
  std::set<int> processors;
  for (const pid_t thread : FindSpinningThreads(getpid())) {
    EXPECT_EQ(sched_getscheduler(thread), SCHED_IDLE);
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(thread, sizeof allowed, &allowed), 0);
    EXPECT_EQ(CPU_COUNT(&allowed), 1);
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &allowed)) processors.insert(i);
  }
  EXPECT_EQ(static_cast<int>(processors.size()), CountAllowed());
}

TEST(AwakeProcessors, StopEndsThemAtOnceAndRequestsAfterwardsDoNothing) {
  AwakeProcessors awake(&RealTimeline(), std::chrono::hours(1));
  ASSERT_TRUE(StepUntilAwake(&awake, CountAllowed()));
  awake.Stop();
  EXPECT_EQ(awake.CountAwake(), 0);
  awake.OnRequest();
  awake.OnReply();
  EXPECT_EQ(awake.CountAwake(), 0);
  EXPECT_TRUE(FindSpinningThreads(getpid()).empty());
}

}  // namespace
}  // namespace pliant::server
