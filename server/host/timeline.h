#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace pliant::server {

using SteadyTime = std::chrono::steady_clock::time_point;
inline constexpr SteadyTime kNever = SteadyTime::max();

// The clock of the server, and the threads that wait for it. Code that reads a clock or waits uses
// a timeline, so that a simulation can run the server in virtual time.
class Timeline {
 public:
  // A job that is run repeatedly, and never by two threads at once.
  class Worker {
   public:
    virtual ~Worker() = default;

    // Runs the job soon; once more after it returns if it is running.
    virtual void Wake() = 0;

    // Runs the job on the calling thread, which avoids the wait for another one: up to `times`
    // times while it is due. Returns false, and does nothing, if it is running already or must not
    // run here.
    virtual bool TryRun(int /*times*/ = 1) { return false; }

    // Returns when the job is not running and will not run again. Idempotent; do not call it from
    // the job.
    virtual void Stop() = 0;
  };

  // Name and priority of a worker's thread.
  struct Thread {
    std::string name = "worker";  // in tools such as top; at most 15 characters are kept
    bool in_background = false;   // has a lower priority than others
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
