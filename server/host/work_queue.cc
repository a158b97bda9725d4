#include "server/host/work_queue.h"

#include <exception>
#include <utility>

#include "spdlog/spdlog.h"

namespace pliant::server {

WorkQueue::WorkQueue(Timeline* timeline, int threads, std::size_t capacity,
                     const Timeline::Thread& thread)
    : timeline_(timeline), capacity_(capacity) {
  for (int i = 0; i < threads; ++i)
    workers_.push_back(timeline_->Start([this, i] { return RunNext(i); }, thread));
}

WorkQueue::~WorkQueue() {
  Stop();
}

void WorkQueue::Post(std::function<void()> job, std::function<void(const absl::Status&)> fail) {
  absl::Status refused;
  int woken = -1;
  {
    std::lock_guard lock(mutex_);
    if (cancelled_) {
      refused = absl::UnavailableError("the server is shutting down");
    } else if (jobs_.size() >= capacity_) {
      refused = absl::ResourceExhaustedError("too many pending requests; try again in a moment");
    } else {
      jobs_.push_back({std::move(job), std::move(fail)});
      // a busy worker looks for a job before it waits
      if (!idle_.empty()) {
        woken = idle_.back();
        idle_.pop_back();
      }
    }
  }
  if (!refused.ok()) return fail(refused);
  if (woken >= 0) workers_[woken]->Wake();
}

std::size_t WorkQueue::length() const {
  std::lock_guard lock(mutex_);
  return jobs_.size();
}

void WorkQueue::Cancel() {
  std::deque<Job> abandoned;
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    abandoned.swap(jobs_);
  }
  for (const Job& job : abandoned) job.fail(absl::UnavailableError("the server is shutting down"));
}

void WorkQueue::Stop() {
  Cancel();
  for (const auto& worker : workers_) worker->Stop();
}

SteadyTime WorkQueue::RunNext(int worker) {
  Job job;
  {
    std::lock_guard lock(mutex_);
    if (jobs_.empty()) {
      idle_.push_back(worker);
      return kNever;
    }
    job = std::move(jobs_.front());
    jobs_.pop_front();
  }

  // an error in one job, even a failed allocation, must not end the process
  try {
    job.run();
  } catch (const std::exception& error) {
    spdlog::error("event=job_failed reason=\"{}\"", error.what());
    job.fail(absl::InternalError(error.what()));
  }
  return timeline_->Now();
}

}  // namespace pliant::server
