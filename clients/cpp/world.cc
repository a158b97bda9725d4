#include "pliant/world.h"

#include "absl/strings/str_cat.h"

#include "pliant/client.h"

namespace pliant {
namespace {

constexpr std::size_t kMaxStateInRequest = 3 << 20;  // a message has at most 4 MiB

// Replaces a body that only refers to an object by the object's content.
template <typename Body>
absl::Status Complete(Client* client, Body* body) {
  if (!body->has_object()) return absl::OkStatus();
  const std::string name = body->name();
  v1::FetchObjectRequest request;
  request.set_sha256(body->object().sha256());
  std::string bytes;
  while (static_cast<std::int64_t>(bytes.size()) < body->object().size()) {
    request.set_offset(static_cast<std::int64_t>(bytes.size()));
    const auto chunk = client->Call(request);
    if (!chunk.ok()) return chunk.status();
    if (chunk->data().empty()) break;
    bytes += chunk->data();
  }
  if (CalcSha256(bytes) != request.sha256() || !body->ParseFromString(bytes))
    return absl::DataLossError(absl::StrCat("the description of \"", name, "\" arrived damaged"));
  body->set_name(name);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::World> World::Get() const {
  v1::GetWorldRequest request;
  request.set_name(name_);
  return client_->Call(request);
}

absl::StatusOr<DescriptionPtr> World::Describe() const {
  v1::DescribeWorldRequest request;
  request.set_name(name_);
  v1::WorldDescription whole;
  do {
    const auto page = client_->Call(request);
    if (!page.ok()) return page.status();
    whole.MergeFrom(*page);  // only the first page has more than lists
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  whole.clear_next_page_token();
  for (v1::RigidDescription& body : *whole.mutable_rigid_bodies()) {
    if (absl::Status status = Complete(client_.get(), &body); !status.ok()) return status;
  }
  for (v1::DeformableDescription& body : *whole.mutable_deformables()) {
    if (absl::Status status = Complete(client_.get(), &body); !status.ok()) return status;
  }
  return std::make_shared<const Description>(std::move(whole));
}

absl::Status World::Delete() const {
  v1::DeleteWorldRequest request;
  request.set_name(name_);
  return client_->Call(request).status();
}

absl::StatusOr<v1::StepWorldResponse> World::Step(int steps) const {
  v1::StepWorldRequest request;
  request.set_steps(steps);
  return Step(std::move(request));
}

absl::StatusOr<v1::StepWorldResponse> World::Step(v1::StepWorldRequest request) const {
  request.set_name(name_);
  if (request.has_frame()) request.mutable_frame()->set_world(name_);
  return client_->Call(request);
}

absl::StatusOr<v1::ProbeWorldResponse> World::Probe(const std::vector<std::string>& names) const {
  v1::ProbeWorldRequest request;
  request.mutable_probes()->Add(names.begin(), names.end());
  return Probe(std::move(request));
}

absl::StatusOr<v1::ProbeWorldResponse> World::Probe(v1::ProbeWorldRequest request) const {
  request.set_name(name_);
  return client_->Call(request);
}

absl::StatusOr<v1::World> World::SetClock(v1::SetClockRequest request) const {
  request.set_name(name_);
  return client_->Call(request);
}

absl::StatusOr<v1::World> World::Pause() const {
  v1::SetClockRequest request;
  request.mutable_paused();
  return SetClock(std::move(request));
}

absl::StatusOr<v1::World> World::Run(double speed) const {
  v1::SetClockRequest request;
  request.mutable_real_time()->set_factor(speed);
  return SetClock(std::move(request));
}

absl::StatusOr<v1::World> World::RunFreely() const {
  v1::SetClockRequest request;
  request.mutable_free_run();
  return SetClock(std::move(request));
}

absl::StatusOr<v1::World> World::Reset() const {
  v1::ResetWorldRequest request;
  request.set_name(name_);
  return client_->Call(request);
}

std::string World::CheckpointName(const std::string& id) const {
  return absl::StrCat(name_, "/checkpoints/", id);
}

absl::StatusOr<std::string> World::FetchState(v1::FetchCheckpointRequest request) const {
  std::string state;
  while (true) {
    const auto chunk = client_->Call(request);
    if (!chunk.ok()) return chunk.status();
    state += chunk->data();
    if (chunk->data().empty() || static_cast<std::int64_t>(state.size()) >= chunk->size())
      return state;
    request.set_handle(chunk->handle());
    request.set_offset(static_cast<std::int64_t>(state.size()));
  }
}

absl::StatusOr<std::string> World::SaveState(std::string* state_hash) const {
  v1::CheckpointWorldRequest request;
  request.set_name(name_);
  request.set_in_chunks(true);
  auto checkpoint = client_->Call(request);
  if (!checkpoint.ok()) return checkpoint.status();
  if (state_hash != nullptr) *state_hash = checkpoint->state_hash();
  if (checkpoint->handle().empty()) return std::move(*checkpoint->mutable_state());
  v1::FetchCheckpointRequest fetch;
  fetch.set_handle(checkpoint->handle());
  return FetchState(std::move(fetch));
}

absl::StatusOr<v1::World> World::RestoreState(std::string_view state) const {
  v1::RestoreWorldRequest request;
  request.set_name(name_);
  if (state.size() > kMaxStateInRequest) {
    absl::StatusOr<std::string> sha256 = client_->Upload(state);
    if (!sha256.ok()) return sha256.status();
    request.set_sha256(*std::move(sha256));
  } else {
    request.set_state(state.data(), state.size());
  }
  return client_->Call(request);
}

absl::StatusOr<v1::Checkpoint> World::SaveCheckpoint(const std::string& id) const {
  v1::CheckpointWorldRequest request;
  request.set_name(name_);
  request.set_checkpoint_id(id);
  auto response = client_->Call(request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_checkpoint());
}

absl::StatusOr<std::vector<v1::Checkpoint>> World::ListCheckpoints() const {
  v1::ListCheckpointsRequest request;
  request.set_world(name_);
  const auto response = client_->Call(request);
  if (!response.ok()) return response.status();
  return std::vector<v1::Checkpoint>(response->checkpoints().begin(),
                                     response->checkpoints().end());
}

absl::StatusOr<std::string> World::FetchCheckpoint(const std::string& id) const {
  v1::FetchCheckpointRequest request;
  request.set_name(CheckpointName(id));
  return FetchState(std::move(request));
}

absl::StatusOr<v1::World> World::RestoreCheckpoint(const std::string& id) const {
  v1::RestoreWorldRequest request;
  request.set_name(name_);
  request.set_checkpoint(CheckpointName(id));
  return client_->Call(request);
}

absl::Status World::DeleteCheckpoint(const std::string& id) const {
  v1::DeleteCheckpointRequest request;
  request.set_name(CheckpointName(id));
  return client_->Call(request).status();
}

absl::StatusOr<World> World::Fork(const std::string& id) const {
  v1::ForkWorldRequest request;
  request.set_name(name_);
  request.set_world_id(id);
  const auto forked = client_->Call(request);
  if (!forked.ok()) return forked.status();
  return World(client_, forked->name());
}

absl::Status World::Stop() const {
  v1::StopWorldRequest request;
  request.set_world(name_);
  return client_->Call(request).status();
}

absl::Status World::Resume() const {
  v1::ResumeWorldRequest request;
  request.set_world(name_);
  return client_->Call(request).status();
}

absl::StatusOr<std::unique_ptr<Subscription>> World::Subscribe(
    v1::Subscription request, Subscription::Callback on_frame) const {
  request.set_world(name_);
  return Subscription::Open(client_, std::move(request), std::move(on_frame));
}

absl::StatusOr<std::unique_ptr<Lease>> World::Acquire(const std::string& target,
                                                      const LeaseOptions& options) const {
  return Lease::Acquire(client_, name_, target, options);
}

absl::StatusOr<std::unique_ptr<CommandStream>> World::Command(
    std::unique_ptr<Lease> lease, CommandStream::Feedback on_feedback) const {
  return CommandStream::Open(std::move(lease), std::move(on_feedback));
}

absl::StatusOr<v1::Recording> World::StartRecording(v1::StartRecordingRequest request) const {
  request.set_world(name_);
  return client_->Call(request);
}

}  // namespace pliant
