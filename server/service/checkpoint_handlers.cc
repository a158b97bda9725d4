#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/host/text.h"
#include "server/service/handlers.h"
#include "server/store/checkpoints.h"

namespace pliant::server {
namespace {

// Leaves room for the rest of a message of at most 4 MiB.
constexpr std::int64_t kMaxChunk = 3 << 20;

std::int64_t ChunkSize(const v1::FetchCheckpointRequest& request) {
  return request.max_bytes() == 0 ? kMaxChunk
                                  : std::min<std::int64_t>(request.max_bytes(), kMaxChunk);
}

absl::StatusOr<v1::CheckpointWorldResponse> SerializeInReply(const physics::Snapshot& snapshot) {
  v1::CheckpointWorldResponse response;
  response.set_state(physics::SerializeState(snapshot.state, snapshot.model->hash));
  const auto size = static_cast<std::int64_t>(response.state().size());
  if (size > kMaxChunk) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the state has ", size, " bytes, and a reply has room for ", kMaxChunk,
                     "; set in_chunks, and read it by FetchCheckpoint"));
  }
  response.set_state_hash(physics::HashState(snapshot.state));
  return response;
}

}  // namespace

absl::StatusOr<Handlers::CheckpointName> Handlers::ReadCheckpointName(
    const Call& call, const std::string& name) const {
  constexpr std::string_view kMiddle = "/checkpoints/";
  const std::size_t middle = name.find(kMiddle);
  if (middle == std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "name: \"", Shorten(name, 150),
        "\" is not the name of a checkpoint; expected worlds/{world_id}/checkpoints/{id}"));
  }
  auto host = FindWorld(call, name.substr(0, middle));
  if (!host.ok()) return host.status();
  auto folder = FindFolder(**host);
  if (!folder.ok()) return folder.status();
  return CheckpointName{*std::move(folder), name.substr(middle + kMiddle.size()),
                        name.substr(0, middle), (*host)->settings()->labels};
}

absl::StatusOr<WorldFolder> Handlers::FindFolder(const WorldHost& host) const {
  if (host.is_durable()) return WorldFolder(host.journal()->folder());
  return absl::FailedPreconditionError(
      absl::StrCat("worlds/", host.id(),
                   " is not durable and keeps no checkpoints; create it with "
                   "`durable`, on a server with --data-dir"));
}

void Handlers::CheckpointWorld(const Call& call, const v1::CheckpointWorldRequest& request,
                               Reply<v1::CheckpointWorldResponse> reply) {
  auto host = FindWorld(call, request.name());
  if (!host.ok()) return reply(host.status());
  const bool is_named = !request.checkpoint_id().empty();
  if (is_named && request.in_chunks()) {
    return reply(absl::InvalidArgumentError(
        "in_chunks: expected no checkpoint_id; FetchCheckpoint reads a checkpoint by its name"));
  }
  absl::StatusOr<WorldFolder> folder = WorldFolder("");
  if (is_named) folder = FindFolder(**host);
  if (!folder.ok()) return reply(folder.status());

  // the stepping thread gives only its snapshot; other threads serialise it
  const StateDownloads::Source source{request.name(), (*host)->settings()->labels, "",
                                      call.caller->name};
  (*host)->Read([this, is_named, folder = *folder, request, source,
                 reply](absl::StatusOr<std::shared_ptr<const Published>> published) {
    if (!published.ok()) return reply(published.status());
    const auto snapshot = (*published)->snapshot;
    if (request.in_chunks()) {
      return describing_.Post(
          [this, source, snapshot, reply] { reply(SerializeForDownload(source, *snapshot)); },
          reply);
    }
    if (!is_named)
      return describing_.Post([snapshot, reply] { reply(SerializeInReply(*snapshot)); }, reply);
    const auto save = [snapshot, folder, request, reply] {
      const auto checkpoint =
          SaveCheckpoint(folder, request.name(), request.checkpoint_id(), *snapshot);
      if (!checkpoint.ok()) return reply(checkpoint.status());
      v1::CheckpointWorldResponse response;
      response.set_state_hash(checkpoint->state_hash());
      *response.mutable_checkpoint() = *checkpoint;
      reply(std::move(response));
    };
    storing_.Post(save, reply);
  });
}

absl::StatusOr<v1::CheckpointWorldResponse> Handlers::SerializeForDownload(
    const StateDownloads::Source& source, const physics::Snapshot& snapshot) {
  std::string state = physics::SerializeState(snapshot.state, snapshot.model->hash);
  v1::CheckpointWorldResponse response;
  response.set_state_hash(physics::HashState(snapshot.state));
  response.set_size(static_cast<std::int64_t>(state.size()));
  const absl::StatusOr<std::string> handle = downloads_.Open(source, std::move(state));
  if (!handle.ok()) return handle.status();
  response.set_handle(*handle);
  return response;
}

void Handlers::ListCheckpoints(const Call& call, const v1::ListCheckpointsRequest& request,
                               Reply<v1::ListCheckpointsResponse> reply) {
  auto host = FindWorld(call, request.world());
  if (!host.ok()) return reply(host.status());
  auto folder = FindFolder(**host);
  if (!folder.ok()) return reply(folder.status());
  const auto list = [folder = *folder, request, reply] {
    v1::ListCheckpointsResponse response;
    for (v1::Checkpoint& checkpoint : server::ListCheckpoints(folder, request.world()))
      *response.add_checkpoints() = std::move(checkpoint);
    reply(std::move(response));
  };
  storing_.Post(list, reply);
}

void Handlers::FetchCheckpoint(const Call& call, const v1::FetchCheckpointRequest& request,
                               Reply<v1::FetchCheckpointResponse> reply) {
  if (request.offset() < 0 || request.max_bytes() < 0) {
    return reply(absl::InvalidArgumentError("offset, max_bytes: expected 0 or more"));
  }
  if (!request.handle().empty()) {
    const auto source = downloads_.Describe(request.handle());
    if (!source.ok()) return reply(source.status());
    const absl::Status status = CheckRoleOn(call, source->labels, source->world);
    if (!status.ok()) return reply(status);
    return reply(ReadDownload(request.handle(), request));
  }
  auto name = ReadCheckpointName(call, request.name());
  if (!name.ok()) return reply(name.status());
  // a client that uses no handles continues the download that it began
  const std::string handle = downloads_.Find(call.caller->name, request.name());
  if (request.offset() > 0 && !handle.empty()) return reply(ReadDownload(handle, request));
  const StateDownloads::Source source{name->world, name->labels, request.name(), call.caller->name};
  const auto fetch = [this, name = *std::move(name), source, request, reply] {
    absl::StatusOr<std::string> state = ReadCheckpointState(name.folder, name.id);
    if (!state.ok()) return reply(state.status());
    const auto size = static_cast<std::int64_t>(state->size());
    if (request.offset() == 0 && size <= ChunkSize(request)) {
      v1::FetchCheckpointResponse whole;
      whole.set_size(size);
      whole.set_data(*std::move(state));
      return reply(std::move(whole));
    }
    const absl::StatusOr<std::string> opened = downloads_.Open(source, *std::move(state));
    if (!opened.ok()) return reply(opened.status());
    reply(ReadDownload(*opened, request));
  };
  storing_.Post(fetch, reply);
}

absl::StatusOr<v1::FetchCheckpointResponse> Handlers::ReadDownload(
    const std::string& handle, const v1::FetchCheckpointRequest& request) {
  absl::StatusOr<StateDownloads::Chunk> chunk =
      downloads_.Read(handle, request.offset(), ChunkSize(request));
  if (!chunk.ok()) return chunk.status();
  v1::FetchCheckpointResponse response;
  response.set_data(std::move(chunk->data));
  response.set_size(chunk->size);
  response.set_handle(handle);
  return response;
}

void Handlers::DeleteCheckpoint(const Call& call, const v1::DeleteCheckpointRequest& request,
                                Reply<google::protobuf::Empty> reply) {
  auto name = ReadCheckpointName(call, request.name());
  if (!name.ok()) return reply(name.status());
  const auto remove = [name = *std::move(name), reply] {
    const absl::Status status = server::DeleteCheckpoint(name.folder, name.id);
    if (!status.ok()) return reply(status);
    reply(google::protobuf::Empty());
  };
  storing_.Post(remove, reply);
}

}  // namespace pliant::server
