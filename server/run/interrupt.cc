#include "server/run/interrupt.h"

#include <unistd.h>

#include <sys/signalfd.h>

#include "server/signals/interrupts.h"

namespace pliant::server {

InterruptWatch::InterruptWatch() {
  HoldInterrupts();
  const sigset_t signals = InterruptSignals();
  file_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

InterruptWatch::~InterruptWatch() {
  if (file_ >= 0) close(file_);
  ReleaseInterrupts();
}

bool InterruptWatch::Arrived() {
  signalfd_siginfo info;
  if (file_ >= 0 && read(file_, &info, sizeof(info)) == sizeof(info)) arrived_ = true;
  return arrived_;
}

}  // namespace pliant::server
