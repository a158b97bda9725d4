#include "server/stream/task_pool.h"

#include <utility>

namespace pliant::server {

TaskPool::TaskPool(Timeline* timeline, int workers, const Timeline::Thread& thread)
    : timeline_(timeline) {
  for (int i = 0; i < workers; ++i)
    workers_.push_back(timeline_->Start([this] { return RunNext(); }, thread));
}

TaskPool::~TaskPool() {
  Stop();
}

void TaskPool::Add(std::shared_ptr<Task> task) {
  {
    std::lock_guard lock(mutex_);
    task->number_ = ++last_number_;
    task->woken_ = task->running_;
    if (!task->running_) Enqueue(*task);
    tasks_.emplace(task->number_, std::move(task));
  }
  for (const auto& worker : workers_) worker->Wake();
}

void TaskPool::Remove(Task& task) {
  std::shared_ptr<Task> removed;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  const auto found = tasks_.find(task.number_);
  if (found == tasks_.end()) return;
  scheduled_.erase({task.due_, task.number_});
  task.number_ = 0;
  removed = std::move(found->second);
  tasks_.erase(found);
}

void TaskPool::Wake(Task& task) {
  {
    std::lock_guard lock(mutex_);
    if (task.number_ == 0 || task.ready_) return;
    if (task.running_) {
      task.woken_ = true;
      return;
    }
    Enqueue(task);
  }
  for (const auto& worker : workers_) worker->Wake();
}

void TaskPool::WakeAll() {
  {
    std::lock_guard lock(mutex_);
    for (const auto& [number, task] : tasks_) {
      if (task->running_) task->woken_ = true;
      if (!task->running_ && !task->ready_) Enqueue(*task);
    }
  }
  for (const auto& worker : workers_) worker->Wake();
}

void TaskPool::Stop() {
  for (const auto& worker : workers_) worker->Stop();
  std::lock_guard lock(mutex_);
  for (const auto& [number, task] : tasks_) task->number_ = 0;
  tasks_.clear();
}

void TaskPool::Enqueue(Task& task) {
  scheduled_.erase({task.due_, task.number_});
  task.ready_ = true;
  ready_.push_back(task.number_);
}

void TaskPool::Schedule(Task& task, SteadyTime due) {
  task.due_ = due;
  if (due != kNever) scheduled_.emplace(due, task.number_);
}

SteadyTime TaskPool::CalcNext(SteadyTime now) const {
  if (!ready_.empty()) return now;
  return scheduled_.empty() ? kNever : scheduled_.begin()->first;
}

SteadyTime TaskPool::RunNext() {
  std::shared_ptr<Task> task;
  const SteadyTime now = timeline_->Now();
  {
    std::lock_guard lock(mutex_);
    while (!scheduled_.empty() && scheduled_.begin()->first <= now)
      Enqueue(*tasks_.at(scheduled_.begin()->second));
    while (task == nullptr && !ready_.empty()) {
      const auto found = tasks_.find(ready_.front());
      ready_.pop_front();
      if (found != tasks_.end()) task = found->second;
    }
    if (task == nullptr) return CalcNext(now);
    task->ready_ = false;
    task->running_ = true;
  }

  // another worker runs the tasks that are due meanwhile
  for (const auto& worker : workers_) worker->Wake();
  const SteadyTime due = task->Run(now);

  std::lock_guard lock(mutex_);
  task->running_ = false;
  const bool woken = std::exchange(task->woken_, false);
  if (task->number_ != 0) {
    if (woken) {
      Enqueue(*task);
    } else {
      Schedule(*task, due);
    }
  }
  return CalcNext(timeline_->Now());
}

}  // namespace pliant::server
