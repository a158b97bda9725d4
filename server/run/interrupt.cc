#include "server/run/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <sys/signalfd.h>

namespace pliant::server {
namespace {

sigset_t WatchedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  const sigset_t signals = WatchedSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  file_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

InterruptWatch::~InterruptWatch() {
  if (file_ >= 0) close(file_);
  const sigset_t signals = WatchedSignals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

bool InterruptWatch::Arrived() {
  signalfd_siginfo info;
  if (file_ >= 0 && read(file_, &info, sizeof(info)) == sizeof(info)) arrived_ = true;
  return arrived_;
}

}  // namespace pliant::server
