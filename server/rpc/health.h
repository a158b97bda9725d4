#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "server/rpc/rpc_call.h"

namespace pliant::server {

inline constexpr char kCheckHealth[] = "grpc.health.v1.Health/Check";
inline constexpr char kWatchHealth[] = "grpc.health.v1.Health/Watch";

// The health service of gRPC: the serving status of the server and of each of its services.
class Health {
 public:
  // `services` are full names. All serve from the start.
  explicit Health(const std::vector<std::string>& services);

  void StopServing();  // from any thread

  void ServeCheck(std::unique_ptr<Arrival> arrival);
  void ServeWatch(std::unique_ptr<Arrival> arrival);

 private:
  class CheckCall;
  class WatchCall;
  bool Knows(const std::string& service) const { return services_.contains(service); }

  const std::set<std::string> services_;  // the empty name: the server as a whole
  std::mutex mutex_;
  bool serving_ = true;
  std::set<WatchCall*> watching_;
};

}  // namespace pliant::server
