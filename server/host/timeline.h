#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace pliant::server {

using SteadyTime = std::chrono::steady_clock::time_point;
inline constexpr SteadyTime kNever = SteadyTime::max();

// Time as the server sees it, and the threads that wait for it. Whatever reads a clock or waits is
// given a timeline, so that a simulation can run the server in virtual time.
class Timeline {
 public:
  // A job that is run again and again, and never by two threads at once.
  class Worker {
   public:
    virtual ~Worker() = default;

    // Runs the job soon, from now on even if it is running.
    virtual void Wake() = 0;

    // Runs the job once on the calling thread, which spares the wait for another one. False when it
    // is running already, or must not run here; then nothing has happened.
    virtual bool TryRun() { return false; }

    // Returns when the job is not running and will not run again. Idempotent; do not call it from
    // the job.
    virtual void Stop() = 0;
  };

  // How the system knows a worker.
  struct Thread {
    std::string name = "worker";  // in tools such as top; at most 15 characters are kept
    bool in_background = false;   // gets less of a busy processor than others
  };

  virtual ~Timeline() = default;
  virtual SteadyTime Now() const = 0;

  // Runs `job` at once, and again at the time that it returned, or earlier when woken. The worker
  // must be stopped before it is destroyed, unless its destructor may wait for the job.
  virtual std::unique_ptr<Worker> Start(std::function<SteadyTime()> job, Thread thread) = 0;
};

// The steady clock, with one thread for each worker.
Timeline& RealTimeline();

}  // namespace pliant::server
