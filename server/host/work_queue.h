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

// Threads for what takes long and must not hold up a network thread: building scenes, joining
// worlds, describing meshes.
class WorkQueue {
 public:
  WorkQueue(int threads, std::size_t capacity);
  ~WorkQueue();

  // RESOURCE_EXHAUSTED when `capacity` jobs wait already, UNAVAILABLE after Stop.
  absl::Status Post(std::function<void()> job);

  // Runs what is queued to its end, then joins. Idempotent.
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
