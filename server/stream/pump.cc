#include "server/stream/pump.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace pliant::server {
namespace {

// Minimum time between passes. A free-running world publishes thousands of times a second, more
// often than viewers need.
constexpr std::chrono::microseconds kPassSpacing{500};

}  // namespace

Pump::Pump() : thread_([this] { Run(); }) {}

Pump::~Pump() {
  Stop();
}

void Pump::Add(std::shared_ptr<PumpClient> client) {
  {
    std::lock_guard lock(mutex_);
    clients_.insert(std::move(client));
  }
  Wake();
}

void Pump::Remove(const std::shared_ptr<PumpClient>& client) {
  std::lock_guard lock(mutex_);
  clients_.erase(client);
}

void Pump::Wake() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(woken_, true)) return;
  }
  wake_.notify_one();
}

void Pump::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

void Pump::Run() {
  SteadyTime next = SteadyTime::min();
  std::vector<std::shared_ptr<PumpClient>> clients;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_until(lock, next, [this] { return stopping_ || woken_; });
      if (stopping_) return;
      woken_ = false;
      clients.assign(clients_.begin(), clients_.end());
    }

    const SteadyTime now = std::chrono::steady_clock::now();
    next = now + std::chrono::hours(1);
    for (const auto& client : clients) next = std::min(next, client->Visit(now));
    clients.clear();

    std::unique_lock lock(mutex_);
    wake_.wait_until(lock, now + kPassSpacing, [this] { return stopping_; });
  }
}

}  // namespace pliant::server
