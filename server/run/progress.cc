#include "server/run/progress.h"

#include <unistd.h>

namespace pliant::server {

Progress::Progress(std::int64_t steps)
    : steps_(steps), terminal_(isatty(STDERR_FILENO) != 0), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
  // clear the line, so that it does not mix with the next output
  if (shown_ && terminal_) std::fputs("\r\x1b[K", stderr);
}

void Progress::Update(std::int64_t done, double simulated_seconds) {
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> since = now - last_, elapsed = now - start_;
  if (since.count() < (terminal_ ? 0.1 : 5.0)) return;
  last_ = now;
  shown_ = true;
  std::fprintf(stderr,
               "%sstep %lld of %lld (%.0f %%), %.3g s simulated in %.0f s, about %.0f s left%s",
               terminal_ ? "\r" : "", static_cast<long long>(done), static_cast<long long>(steps_),
               100.0 * static_cast<double>(done) / static_cast<double>(steps_), simulated_seconds,
               elapsed.count(),
               elapsed.count() * static_cast<double>(steps_ - done) / static_cast<double>(done),
               terminal_ ? "\x1b[K" : "\n");
  std::fflush(stderr);
}

}  // namespace pliant::server
