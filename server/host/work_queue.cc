#include "server/host/work_queue.h"

#include <utility>

namespace pliant::server {

WorkQueue::WorkQueue(int threads, std::size_t capacity) : capacity_(capacity) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkQueue::~WorkQueue() {
  Stop();
}

absl::Status WorkQueue::Post(std::function<void()> job) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return absl::UnavailableError("the server is shutting down");
    if (jobs_.size() >= capacity_) {
      return absl::ResourceExhaustedError("too many pending requests; try again in a moment");
    }
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
  return absl::OkStatus();
}

void WorkQueue::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void WorkQueue::Run() {
  while (true) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace pliant::server
