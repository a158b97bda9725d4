#pragma once

namespace pliant::server {

// Blocks SIGINT and SIGTERM during its lifetime, so that a run can end between two steps. Create it
// before any thread, since threads inherit the signal mask.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // True if either signal has arrived.
  bool Arrived();

 private:
  int file_ = -1;
  bool arrived_ = false;
};

}  // namespace pliant::server
