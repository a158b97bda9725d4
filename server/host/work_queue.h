#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"

#include "server/host/timeline.h"

namespace pliant::server {

// Worker threads for long jobs that must not block a network thread: building scenes, describing
// meshes.
class WorkQueue {
 public:
  // `timeline` outlives the queue.
  WorkQueue(Timeline* timeline, int threads, std::size_t capacity,
            const Timeline::Thread& thread = {});
  ~WorkQueue();

  // Runs `job` on a worker. `fail` is called in its place, or after it if it throws: with
  // RESOURCE_EXHAUSTED when `capacity` jobs are already waiting, UNAVAILABLE after Cancel, INTERNAL
  // with the text of an exception.
  void Post(std::function<void()> job, std::function<void(const absl::Status&)> fail);

  int size() const { return static_cast<int>(workers_.size()); }  // number of threads
  std::size_t length() const;                                     // number of waiting jobs

  // Fails waiting and further jobs. Does not wait for those that run.
  void Cancel();

  // Cancels, and returns when no job is running. Idempotent.
  void Stop();

 private:
  struct Job {
    std::function<void()> run;
    std::function<void(const absl::Status&)> fail;
  };

  SteadyTime RunNext(int worker);

  Timeline* const timeline_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<Job> jobs_;
  // Indices of workers that wait for a job. The last one to begin is woken first: its data may
  // still be in the caches.
  std::vector<int> idle_;
  bool cancelled_ = false;
  std::vector<std::unique_ptr<Timeline::Worker>> workers_;
};

}  // namespace pliant::server
