#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "server/host/clock.h"

namespace pliant::server {

// A reader of published states. Visited only on the pump's thread.
class PumpClient {
 public:
  virtual ~PumpClient() = default;

  // Passes on new states without blocking. Returns the time of the next visit if nothing happens
  // before.
  virtual SteadyTime Visit(SteadyTime now) = 0;
};

// The thread between the worlds and their viewers. It encodes and sends frames, so that stepping
// and network threads do not. Publishing costs a world only setting a flag.
class Pump {
 public:
  Pump();
  ~Pump();

  void Add(std::shared_ptr<PumpClient> client);
  void Remove(const std::shared_ptr<PumpClient>& client);

  // Call when something was published or a client can take more.
  void Wake();

  void Stop();  // idempotent

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false;
  bool stopping_ = false;
  std::set<std::shared_ptr<PumpClient>> clients_;
  std::mutex join_mutex_;
  std::thread thread_;
};

}  // namespace pliant::server
