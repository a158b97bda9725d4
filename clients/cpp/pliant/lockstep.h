#pragma once

#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pliant/v1/world.pb.h"

namespace pliant {

class Client;

// Steps worlds in turns with this program, over one stream: a step takes little more than half of
// the time of a call such as World::Step. Thread-safe; steps follow each other.
//
// The first step opens the stream. A step that fails ends it, and the next one opens another.
class Lockstep {
 public:
  explicit Lockstep(std::shared_ptr<Client> client);
  ~Lockstep();
  Lockstep(const Lockstep&) = delete;

  // Steps many worlds at the same time, as Client::StepWorlds. The result of each world has its own
  // status. There is no time-out: Client::CancelAll ends a step that takes too long.
  absl::StatusOr<v1::StepWorldsResponse> Step(const v1::StepWorldsRequest& request);
  // Steps one world, whose error is returned. The request names the world.
  absl::StatusOr<v1::StepWorldResponse> Step(const v1::StepWorldRequest& request);

 private:
  struct Stream;
  absl::StatusOr<v1::StepWorldsResponse> Exchange(const v1::StepWorldsRequest& request);
  absl::Status EndStream();

  const std::shared_ptr<Client> client_;
  std::mutex mutex_;
  std::unique_ptr<Stream> stream_;  // null: not open
};

}  // namespace pliant
