#pragma once

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
#include "server/host/creation.h"
#include "server/host/quotas.h"
#include "server/host/world_host.h"

namespace pliant::server {

// INVALID_ARGUMENT unless `id` is [a-z0-9-]{1,63}.
absl::Status CheckWorldId(const std::string& id);

// The worlds of a server, by id. Building a scene and joining a thread happen outside its lock.
class WorldRegistry {
 public:
  struct Options {
    Quotas quotas;
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
    Creation& creation() { return *creation_; }

   private:
    friend class WorldRegistry;
    Reservation(WorldRegistry* registry, std::string id, std::shared_ptr<Creation> creation);
    WorldRegistry* registry_;
    std::string id_;
    std::shared_ptr<Creation> creation_;
  };

  explicit WorldRegistry(Options options);
  ~WorldRegistry();

  // Reserves an id; an empty one lets the registry pick world-N. INVALID_ARGUMENT, ALREADY_EXISTS,
  // RESOURCE_EXHAUSTED when the server or the owner has its maximum number of worlds, or half of
  // the server's are being created; UNAVAILABLE once the registry closes.
  absl::StatusOr<Reservation> Reserve(std::string id, const WorldSettings& settings = {});

  // Starts a world under a reserved id. RESOURCE_EXHAUSTED, naming quota and need; ABORTED when the
  // creation was cancelled, saying by whom. `journal` is closed then.
  absl::StatusOr<std::shared_ptr<WorldHost>> Open(Reservation reservation, physics::World world,
                                                  const ClockMode& clock = {},
                                                  WorldSettings settings = {},
                                                  std::shared_ptr<Journal> journal = nullptr);

  absl::StatusOr<std::shared_ptr<WorldHost>> Get(const std::string& id) const;  // NOT_FOUND

  // The model of a world that is equal to `model` in everything; `model` itself if there is none.
  // Worlds that share one take less memory, and step faster together: it stays in the caches.
  std::shared_ptr<const physics::Model> Share(std::shared_ptr<const physics::Model> model) const;

  // A world that is being created; null if there is none of that id.
  std::shared_ptr<Creation> FindCreation(const std::string& id) const;
  // Ends a creation that `who` cancels. Its id is free at once. NOT_FOUND.
  absl::Status CancelCreation(const std::string& id, const std::string& who);

  // A world, or one that is being created.
  struct Entry {
    std::string id;
    std::shared_ptr<WorldHost> host;     // null while it is created
    std::shared_ptr<Creation> creation;  // null afterwards
  };
  // All worlds and creations at one time, by id.
  std::vector<Entry> ListWithCreations() const;

  // Quotas of worlds that are created from now on.
  void SetQuotas(const Quotas& quotas);
  std::vector<std::shared_ptr<WorldHost>> List() const;  // by id

  // Removes a world that `who` deletes and asks it to stop. Its id is free at once; it counts as
  // one of the server's worlds until it has ended, when `done` is called on a thread of the
  // registry. NOT_FOUND. Idle worlds are removed likewise.
  absl::Status Remove(const std::string& id, const std::string& who, std::function<void()> done);

  // Refuses new worlds, ends creations and asks all worlds to stop.
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
  absl::Status CheckQuotas(const Usage& needed, const std::string& owner) const;
  void Free(const std::string& id, const Creation* creation);

  const Options options_;
  mutable std::mutex mutex_;
  Quotas quotas_;
  std::map<std::string, std::shared_ptr<WorldHost>, std::less<>> worlds_;
  std::map<std::string, std::shared_ptr<Creation>, std::less<>> creations_;
  absl::Status closed_;
  int next_number_ = 1;
  std::deque<Ending> ending_;
  std::unique_ptr<Timeline::Worker> worker_;  // removes idle worlds and joins those that end
};

}  // namespace pliant::server
