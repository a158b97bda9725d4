#include "clients/cli/terminal/interrupts.h"

#include <atomic>
#include <pthread.h>
#include <signal.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "clients/cli/terminal/command_error.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

constexpr timespec kGrace{.tv_sec = 5, .tv_nsec = 0};

std::atomic<bool> interrupted{false};

}  // namespace

bool Interrupted() {
  return interrupted;
}

void HandleInterrupts(std::function<void()> on_first) {
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  // inherited by all threads, so that only the one below takes them
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals, on_first = std::move(on_first)] {
    int number = 0;
    sigwait(&signals, &number);
    interrupted = true;
    on_first();
    sigtimedwait(&signals, nullptr, &kGrace);
    RestoreTerminal();
    _exit(kInterrupted);
  }).detach();
}

}  // namespace pliant::clients
