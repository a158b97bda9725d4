#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace pliant::server {

// Worker threads for long jobs that must not block a network thread: building scenes, joining
// worlds, describing meshes.
class WorkQueue {
 public:
  WorkQueue(int threads, std::size_t capacity);
  ~WorkQueue();

  // RESOURCE_EXHAUSTED when `capacity` jobs are already waiting, UNAVAILABLE after Stop.
  absl::Status Post(std::function<void()> job);

  // Finishes queued jobs, then joins the threads. Idempotent.
  void Stop();

 private:
  void Run();

  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace pliant::server
