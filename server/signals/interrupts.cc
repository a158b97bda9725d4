#include "server/signals/interrupts.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace pliant::server {
namespace {

// Signal handler, which runs only in threads older than HoldInterrupts(). Blocks the signal in this
// thread from now on, and sends it to the process again.
void PassOn(int number, siginfo_t*, void* context) {
  auto* interrupted = static_cast<ucontext_t*>(context);
  for (const int held : {SIGINT, SIGTERM, number}) sigaddset(&interrupted->uc_sigmask, held);
  kill(getpid(), number);
}

}  // namespace

sigset_t InterruptSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&signals, number);
  return signals;
}

void HoldInterrupts(std::initializer_list<int> others) {
  sigset_t signals = InterruptSignals();
  for (const int number : others) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  struct sigaction action {};
  action.sa_sigaction = PassOn;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
  for (const int number : others) sigaction(number, &action, nullptr);
}

int WaitForInterrupt(std::chrono::milliseconds timeout) {
  using std::chrono::nanoseconds, std::chrono::seconds, std::chrono::steady_clock;
  const sigset_t signals = InterruptSignals();
  const auto end = steady_clock::now() + timeout;
  while (true) {
    const nanoseconds left = std::max<nanoseconds>(end - steady_clock::now(), nanoseconds{0});
    const auto whole = std::chrono::duration_cast<seconds>(left);
    const timespec rest{whole.count(), (left - whole).count()};
    const int number = sigtimedwait(&signals, nullptr, &rest);
    if (number > 0) return number;
    if (errno != EINTR) return 0;
  }
}

void ReleaseInterrupts() {
  const sigset_t signals = InterruptSignals();
  for (const int number : {SIGINT, SIGTERM}) signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace pliant::server
