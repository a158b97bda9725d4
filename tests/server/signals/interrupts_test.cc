#include "server/signals/interrupts.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace pliant::server {
namespace {

using namespace std::chrono_literals;

// A BLAS, for example, starts its threads before main; a signal to the process may reach any of
// them.
TEST(Interrupts, ReachWhoWaitsThoughOtherThreadsWereThereBefore) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> early;
  for (int i = 0; i < 8; ++i) {
    early.emplace_back([&] {
      while (!is_over.load()) usleep(1000);
    });
  }
  HoldInterrupts();
  for (int i = 0; i < 40; ++i) {
    const int sent = i % 2 == 0 ? SIGINT : SIGTERM;
    ASSERT_EQ(kill(getpid(), sent), 0);
    EXPECT_EQ(WaitForInterrupt(5s), sent);
  }
  is_over.store(true);
  for (std::thread& thread : early) thread.join();
  ReleaseInterrupts();
}

// This happens when the process is stopped and continued, or when another thread receives the
// signal first and passes it on.
TEST(Interrupts, AreWaitedForThoughSomethingElseInterruptsTheWait) {
  HoldInterrupts();
  struct sigaction action {};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, nullptr);
  const pthread_t waiting = pthread_self();
  std::thread others([waiting] {
    for (int i = 0; i < 5; ++i) {
      usleep(20'000);
      pthread_kill(waiting, SIGUSR1);
    }
    kill(getpid(), SIGTERM);
  });
  EXPECT_EQ(WaitForInterrupt(10s), SIGTERM);
  others.join();
  signal(SIGUSR1, SIG_DFL);
  ReleaseInterrupts();
}

TEST(Interrupts, AreNotWaitedForLongerThanTold) {
  HoldInterrupts();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(WaitForInterrupt(30ms), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 30ms);
  ReleaseInterrupts();
}

}  // namespace
}  // namespace pliant::server
