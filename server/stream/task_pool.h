#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "server/host/timeline.h"

namespace pliant::server {

// A few threads that run many tasks. Tasks that are ready wait in one queue, so that each gets its
// turn however often another is woken.
class TaskPool {
 public:
  class Task {
   public:
    virtual ~Task() = default;

    // Must not block. Returns the time at which to run it again unless it is woken before.
    virtual SteadyTime Run(SteadyTime now) = 0;

   private:
    friend class TaskPool;
    std::uint64_t number_ = 0;  // 0: not in the pool
    bool ready_ = false;
    bool running_ = false;
    bool woken_ = false;  // while it ran
    SteadyTime due_ = kNever;
  };

  // `timeline` outlives the pool.
  TaskPool(Timeline* timeline, int workers, const Timeline::Thread& thread = {});
  ~TaskPool();

  // The pool keeps the task until Remove or Stop, and runs it at once.
  void Add(std::shared_ptr<Task> task);

  // The task may still be running when this returns, but is not run again.
  void Remove(Task& task);

  // Runs a task soon, never by two threads at once. Nothing happens if it is not in the pool.
  void Wake(Task& task);

  // Runs every task soon.
  void WakeAll();

  void Stop();  // returns when no task is running. Idempotent

 private:
  SteadyTime RunNext();
  void Enqueue(Task& task);
  void Schedule(Task& task, SteadyTime due);
  SteadyTime CalcNext(SteadyTime now) const;

  Timeline* const timeline_;
  std::mutex mutex_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Task>> tasks_;
  std::deque<std::uint64_t> ready_;  // may name removed tasks
  std::set<std::pair<SteadyTime, std::uint64_t>>
      scheduled_;  // tasks that are neither ready nor running
  std::vector<std::unique_ptr<Timeline::Worker>> workers_;
};

}  // namespace pliant::server
