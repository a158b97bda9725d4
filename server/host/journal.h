#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"

#include "physics/dynamics/inputs.h"
#include "physics/world/world.h"

namespace pliant::server {

// Observes every change of a world's state, in order, on its stepping thread. Must be quick.
class StateObserver {
 public:
  virtual ~StateObserver() = default;

  // The observer receives the changes from `now` on.
  virtual void OnStart(const std::shared_ptr<const physics::Snapshot>& /*now*/) {}

  // The step with `inputs` led to `after`. An error pauses the world with this as its fault.
  virtual absl::Status OnStep(const physics::Inputs& inputs,
                              const std::shared_ptr<const physics::Snapshot>& after) = 0;

  // The world is at `now` since it was reset, or restored.
  virtual void OnReset(const std::shared_ptr<const physics::Snapshot>& now) = 0;
  virtual void OnRestore(const std::shared_ptr<const physics::Snapshot>& now) = 0;

  // The world has ended: no call follows. Called on the thread that joins it.
  virtual void OnEnd() {}
};

// Keeps the changes of a durable world, so that it survives the server.
class Journal : public StateObserver {
 public:
  // Calls `done` when all changes so far survive the process, or with the error for which they do
  // not. Called on this thread or another; it must not block.
  virtual void WhenWritten(std::function<void(const absl::Status&)> done) = 0;

  // The folder in which it keeps them.
  virtual const std::string& folder() const = 0;

  // Writes pending changes and a last checkpoint. The world has ended and may be recovered.
  virtual void Close() = 0;

  // The world was deleted: removes its folder.
  virtual void Discard() = 0;
};

}  // namespace pliant::server
