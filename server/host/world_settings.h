#pragma once

#include <map>
#include <memory>
#include <string>

#include "server/host/timeline.h"

namespace pliant::v1 {
class CreateWorldRequest;
}

namespace pliant::server {

// Settings of a world by its creator, which do not affect its motion.
struct WorldSettings {
  std::map<std::string, std::string> labels;
  std::string owner;  // client that created it
  // The request from which its model can be built again; null if it was not created by one.
  std::shared_ptr<const v1::CreateWorldRequest> source;
  bool durable = false;  // it survives restarts of the server
  // Time without use after which the world is deleted; max: never.
  SteadyTime::duration idle_timeout = SteadyTime::duration::max();
};

}  // namespace pliant::server
