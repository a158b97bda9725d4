#include "server/signals/interrupts.h"

#include <atomic>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace pliant::server {
namespace {

// As a BLAS does, whose threads stand ready before main: a signal to the process may reach any of them.
TEST(Interrupts, ReachWhoWaitsThoughOtherThreadsWereThereBefore) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> early;
  for (int i = 0; i < 8; ++i) {
    early.emplace_back([&] {
      while (!is_over.load()) usleep(1000);
    });
  }
  HoldInterrupts();
  const sigset_t signals = InterruptSignals();
  for (int i = 0; i < 40; ++i) {
    const int sent = i % 2 == 0 ? SIGINT : SIGTERM;
    ASSERT_EQ(kill(getpid(), sent), 0);
    const timespec timeout{5, 0};
    EXPECT_EQ(sigtimedwait(&signals, nullptr, &timeout), sent);
  }
  is_over.store(true);
  for (std::thread& thread : early) thread.join();
  ReleaseInterrupts();
}

}  // namespace
}  // namespace pliant::server
