#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/world/world.h"
#include "server/host/world_host.h"

namespace pliant::server {

// INVALID_ARGUMENT unless `id` is [a-z0-9-]{1,63}.
absl::Status CheckWorldId(const std::string& id);

// The worlds of a server, by id. Building a scene and joining a thread happen outside its lock.
class WorldRegistry {
 public:
  struct Options {
    int max_worlds = 32;
    std::int64_t max_dofs = 0;  // degrees of freedom of all worlds together; 0: any number
    // Ids that worlds under construction may take, so that they do not take all of them.
    int max_reserved() const { return std::max(1, max_worlds / 2); }
    std::function<std::unique_ptr<StepController>(std::shared_ptr<const physics::Model>)>
        make_controller;
    Timeline* timeline = &RealTimeline();
  };

  // An id reserved while its world is being built. Freed if destroyed before Open.
  class Reservation {
   public:
    Reservation(Reservation&& other) noexcept;
    ~Reservation();
    const std::string& id() const { return id_; }

   private:
    friend class WorldRegistry;
    Reservation(WorldRegistry* registry, std::string id);
    WorldRegistry* registry_;
    std::string id_;
  };

  explicit WorldRegistry(Options options);
  ~WorldRegistry();

  // Reserves an id; an empty one lets the registry pick world-N. INVALID_ARGUMENT, ALREADY_EXISTS,
  // RESOURCE_EXHAUSTED when the server is full or max_reserved worlds are being built, UNAVAILABLE
  // once it closes.
  absl::StatusOr<Reservation> Reserve(std::string id);

  // Starts a world under a reserved id. RESOURCE_EXHAUSTED, naming limit and need, when the worlds
  // would have more than max_dofs. `journal` is closed then.
  absl::StatusOr<std::shared_ptr<WorldHost>> Open(Reservation reservation, physics::World world,
                                                  const ClockMode& clock = {},
                                                  WorldSettings settings = {},
                                                  std::shared_ptr<Journal> journal = nullptr);

  absl::StatusOr<std::shared_ptr<WorldHost>> Get(const std::string& id) const;  // NOT_FOUND
  std::vector<std::shared_ptr<WorldHost>> List() const;                         // by id

  // Removes a world that `who` deletes and asks it to stop. Its id is free at once; it counts as
  // one of the server's worlds until it has ended, when `done` is called on a thread of the
  // registry. NOT_FOUND. Idle worlds are removed likewise.
  absl::Status Remove(const std::string& id, const std::string& who, std::function<void()> done);

  // Refuses new worlds and asks all worlds to stop.
  void Close(const absl::Status& reason);
  void JoinAll();

 private:
  struct Ending {
    std::shared_ptr<WorldHost> host;
    std::function<void()> done;
  };

  SteadyTime Tend();
  bool EndNext();
  SteadyTime RemoveIdle();
  std::int64_t CountDofs() const;
  void Free(const std::string& id);

  const Options options_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<WorldHost>, std::less<>> worlds_;  // null while being built
  absl::Status closed_;
  int next_number_ = 1;
  std::deque<Ending> ending_;
  std::unique_ptr<Timeline::Worker> worker_;  // removes idle worlds and joins those that end
};

}  // namespace pliant::server
