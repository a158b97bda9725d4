#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "pliant/command_stream.h"
#include "pliant/description.h"
#include "pliant/lease.h"
#include "pliant/subscription.h"
#include "pliant/v1/record.pb.h"
#include "pliant/v1/world.pb.h"

namespace pliant {

class Client;

// A world on a server, by its name. A value: copies name the same world. Thread-safe.
//
// Every method waits for the reply. Those that take a request of the API fill in its name. To avoid
// waiting, give the same requests to Client::CallAsync.
class World {
 public:
  World(std::shared_ptr<Client> client, std::string name, std::vector<std::string> warnings = {})
      : client_(std::move(client)), name_(std::move(name)), warnings_(std::move(warnings)) {}

  const std::string& name() const { return name_; }  // worlds/{world_id}
  const std::shared_ptr<Client>& client() const { return client_; }
  // The server's corrections to the scene and its files, if this client created the world.
  const std::vector<std::string>& warnings() const { return warnings_; }

  absl::StatusOr<v1::World> Get() const;
  // Joins all pages, and fetches large bodies.
  absl::StatusOr<DescriptionPtr> Describe() const;
  absl::Status Delete() const;

  // Advances the world, which must be paused.
  absl::StatusOr<v1::StepWorldResponse> Step(int steps = 1) const;
  // The same with commands that hold through these steps, probes, and a frame of the last one.
  absl::StatusOr<v1::StepWorldResponse> Step(v1::StepWorldRequest request) const;
  // Probes of the scene by name; without names, all of them.
  absl::StatusOr<v1::ProbeWorldResponse> Probe(const std::vector<std::string>& names = {}) const;
  absl::StatusOr<v1::ProbeWorldResponse> Probe(v1::ProbeWorldRequest request) const;

  // The clock.
  absl::StatusOr<v1::World> Pause() const;
  absl::StatusOr<v1::World> Run(double speed = 1) const;  // simulated seconds per second
  absl::StatusOr<v1::World> RunFreely() const;            // as fast as the server can
  absl::StatusOr<v1::World> Reset() const;                // to time zero

  // States: bytes for RestoreState, in this world or another one of the same model.
  absl::StatusOr<std::string> SaveState(std::string* state_hash = nullptr) const;
  absl::StatusOr<v1::World> RestoreState(std::string_view state) const;
  // Checkpoints that the server keeps of a durable world.
  absl::StatusOr<v1::Checkpoint> SaveCheckpoint(const std::string& id) const;
  absl::StatusOr<std::vector<v1::Checkpoint>> ListCheckpoints() const;
  absl::StatusOr<std::string> FetchCheckpoint(const std::string& id) const;
  absl::StatusOr<v1::World> RestoreCheckpoint(const std::string& id) const;
  absl::Status DeleteCheckpoint(const std::string& id) const;
  // A copy in the present state. An empty id is chosen by the server.
  absl::StatusOr<World> Fork(const std::string& id = "") const;

  // Ramps all commanded motion to rest, for everyone, until Resume.
  absl::Status Stop() const;
  absl::Status Resume() const;

  // Frames of this world: request.world is filled in.
  absl::StatusOr<std::unique_ptr<Subscription>> Subscribe(
      v1::Subscription request = {}, Subscription::Callback on_frame = nullptr) const;
  // The right to command a target: a body, a robot, or a group of its actuators.
  absl::StatusOr<std::unique_ptr<Lease>> Acquire(const std::string& target,
                                                 const LeaseOptions& options = {}) const;
  // A stream of commands under a lease of this world, which it takes.
  absl::StatusOr<std::unique_ptr<CommandStream>> Command(
      std::unique_ptr<Lease> lease, CommandStream::Feedback on_feedback = nullptr) const;

  absl::StatusOr<v1::Recording> StartRecording(v1::StartRecordingRequest request = {}) const;

 private:
  absl::StatusOr<v1::World> SetClock(v1::SetClockRequest request) const;
  absl::StatusOr<std::string> FetchState(v1::FetchCheckpointRequest request) const;
  std::string CheckpointName(const std::string& id) const;

  std::shared_ptr<Client> client_;
  std::string name_;
  std::vector<std::string> warnings_;
};

}  // namespace pliant
