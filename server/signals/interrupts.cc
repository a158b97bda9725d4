#include "server/signals/interrupts.h"

#include <initializer_list>
#include <unistd.h>

namespace pliant::server {
namespace {

// Runs in a thread that was there before the signals were held back: it holds them back from now on, and passes this one on.
void PassOn(int number, siginfo_t*, void* context) {
  auto* interrupted = static_cast<ucontext_t*>(context);
  for (const int held : {SIGINT, SIGTERM}) sigaddset(&interrupted->uc_sigmask, held);
  kill(getpid(), number);
}

}  // namespace

sigset_t InterruptSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&signals, number);
  return signals;
}

void HoldInterrupts() {
  const sigset_t signals = InterruptSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  struct sigaction action {};
  action.sa_sigaction = PassOn;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

void ReleaseInterrupts() {
  const sigset_t signals = InterruptSignals();
  for (const int number : {SIGINT, SIGTERM}) signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace pliant::server
