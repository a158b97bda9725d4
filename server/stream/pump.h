#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "server/host/clock.h"

namespace pliant::server {

// A reader of what worlds publish. Visited on the pump's thread alone.
class PumpClient {
 public:
  virtual ~PumpClient() = default;

  // Looks for something new and passes it on, without blocking. Returns when to come again if
  // nothing happens before.
  virtual SteadyTime Visit(SteadyTime now) = 0;
};

// The one thread between the worlds and their viewers: it encodes and hands over, so that neither a
// stepping thread nor a network thread does. Publishing costs a world one flag.
class Pump {
 public:
  Pump();
  ~Pump();

  void Add(std::shared_ptr<PumpClient> client);
  void Remove(const std::shared_ptr<PumpClient>& client);

  // Something was published, or a client can take more.
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
