#pragma once

namespace pliant::server {

// Holds SIGINT and SIGTERM back while it lives, so that a run can end between two steps. Made
// before any thread is started: threads inherit what is held back.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  // Whether one of the two has arrived.
  bool Arrived();

 private:
  int file_ = -1;
  bool arrived_ = false;
};

}  // namespace pliant::server
