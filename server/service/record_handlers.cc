#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/host/text.h"
#include "server/record/file/replay.h"
#include "server/record/file/unpacked_files.h"
#include "server/service/errors.h"
#include "server/service/handlers.h"
#include "server/service/methods.h"
#include "server/uploads/given_scene.h"

namespace pliant::server {
namespace {

constexpr std::string_view kRecordings = "recordings/";
constexpr std::int64_t kMaxChunkOfRecording = 3 << 20;
constexpr std::int64_t kMinRecordingBytes = 65536;
constexpr std::int64_t kDefaultRecordingBytes = std::int64_t{1} << 30;

absl::Status NoRecordings() {
  return absl::FailedPreconditionError(
      "this server keeps no recordings; start it with --data-dir DIR");
}

absl::StatusOr<std::string> ReadRecordingId(const std::string& name) {
  if (name.starts_with(kRecordings)) return name.substr(kRecordings.size());
  return absl::InvalidArgumentError(
      absl::StrCat("name: \"", Shorten(name, 80),
                   "\" is not the name of a recording; expected recordings/{recording_id}"));
}

}  // namespace

// Checks the role on the labels that the world had when the recording began. A file that was cut
// off before these requires the role on every world.
absl::Status Handlers::CheckRoleOnRecording(const Call& call,
                                            const v1::Recording& recording) const {
  if (!recording.model_hash().empty()) {
    const auto& labels = recording.labels();
    return CheckRoleOn(call, {labels.begin(), labels.end()}, recording.name());
  }
  if (call.caller->identity.HasEverywhere(call.required)) return absl::OkStatus();
  const absl::Status denied = absl::PermissionDeniedError(
      absl::StrCat(std::string(call.method), " requires the role ", NameOf(call.required),
                   " on every world for ", recording.name(), ", whose labels are unknown"));
  Audit(*call.caller, call.method, recording.name(), denied);
  return denied;
}

// Describes a recording that the caller may use. Reads files.
absl::StatusOr<v1::Recording> Handlers::FindRecording(const Call& call,
                                                      const std::string& id) const {
  absl::StatusOr<v1::Recording> recording = recordings_->Describe(id);
  if (!recording.ok()) return recording;
  if (absl::Status status = CheckRoleOnRecording(call, *recording); !status.ok()) return status;
  return recording;
}

void Handlers::StartRecording(const Call& call, const v1::StartRecordingRequest& request,
                              Reply<v1::Recording> reply) {
  if (recordings_ == nullptr) return reply(NoRecordings());
  auto host = FindWorld(call, request.world());
  if (!host.ok()) return reply(host.status());
  WorldRecording::Options options;
  options.id = request.recording_id();
  options.world = request.world();
  options.owner = (*host)->settings()->owner;
  options.labels = (*host)->settings()->labels;
  options.max_bytes = request.max_bytes() == 0 ? kDefaultRecordingBytes : request.max_bytes();
  if (options.max_bytes < kMinRecordingBytes) {
    return reply(absl::InvalidArgumentError(
        absl::StrCat("max_bytes: ", request.max_bytes(), " is not allowed; expected ",
                     kMinRecordingBytes, " or more, or 0 for ", kDefaultRecordingBytes)));
  }
  if (request.has_frames()) {
    absl::StatusOr<Subscription> frames = streams_.Read(request.frames(), *host);
    if (!frames.ok()) return reply(frames.status());
    options.frames = std::move(frames->choice);
    options.rate = frames->rate;
    options.layout = frames->world->layout();
  }
  options.start.set_world(request.world());
  options.start.set_model_hash((*host)->model().hash);
  options.start.set_version(options_.version);
  if (const auto& source = (*host)->settings()->source; source != nullptr)
    *options.start.mutable_source() = *source;

  const auto start = [this, host = *host, options = std::move(options), reply]() mutable {
    const absl::StatusOr<std::unique_ptr<StagedFiles>> staged = FindFiles(*host, &options);
    if (!staged.ok()) return reply(staged.status());
    const auto recording = recordings_->Start(options);
    if (!recording.ok()) return reply(recording.status());
    const auto done = [recording = *recording,
                       reply](absl::StatusOr<std::shared_ptr<const Published>> published) {
      if (published.ok()) return reply(recording->Describe());
      recording->End(std::string(published.status().message()), nullptr);
      reply(published.status());
    };
    host->AddObserver(*recording, done);
  };
  storing_.Post(start, reply);
}

// Finds the files of the scene, which the recording keeps, except those dropped since the world was
// created. A durable world has its own; the files of others are staged while the recording starts.
absl::StatusOr<std::unique_ptr<StagedFiles>> Handlers::FindFiles(
    const WorldHost& host, WorldRecording::Options* options) const {
  std::unique_ptr<StagedFiles> staged;
  const auto& source = host.settings()->source;
  if (source == nullptr || source->files().empty() || options_.objects == nullptr) return staged;
  std::map<std::string, std::string> known;
  std::filesystem::path folder;
  if (host.is_durable()) {
    known.insert(source->files().begin(), source->files().end());
    folder = std::filesystem::path(host.journal()->folder()) / kFilesOfWorld;
  } else {
    for (const auto& [name, sha256] : source->files()) {
      if (options_.objects->Has(sha256)) known[name] = sha256;
    }
    auto found = options_.objects->Stage(known);
    if (!found.ok()) return found.status();
    staged = *std::move(found);
    folder = staged->folder();
  }
  std::uintmax_t size = 0;
  for (const auto& [name, sha256] : known) {
    const std::filesystem::path path = folder / std::filesystem::path(name).lexically_normal();
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(path, error);
    if (error) continue;
    size += bytes;
    options->files[name] = path.string();
  }
  if (size + kMinRecordingBytes > static_cast<std::uintmax_t>(options->max_bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_bytes: ", options->max_bytes, " is too small; expected at least ",
                     size + kMinRecordingBytes, ", because the files of the scene have ", size));
  }
  return staged;
}

void Handlers::StopRecording(const Call& call, const v1::StopRecordingRequest& request,
                             Reply<v1::Recording> reply) {
  if (recordings_ == nullptr) return reply(NoRecordings());
  const absl::StatusOr<std::string> id = ReadRecordingId(request.name());
  if (!id.ok()) return reply(id.status());
  const auto stop = [this, call, id = *id, reply] {
    const absl::StatusOr<v1::Recording> found = FindRecording(call, id);
    if (!found.ok()) return reply(found.status());
    const std::shared_ptr<WorldRecording> recording = recordings_->Find(id);
    if (recording == nullptr) return reply(*found);  // of an earlier server
    const auto end = [recording, reply](const auto& /*published*/) {
      recording->End("", [recording, reply] { reply(recording->Describe()); });
    };
    // remove it between two steps, so that the recording ends at the state of the world
    const auto host = registry_.Get(recording->world().substr(7));
    if (!host.ok()) return end(host.status());
    (*host)->RemoveObserver(recording, end);
  };
  storing_.Post(stop, reply);
}

void Handlers::ListRecordings(const Call& call, const v1::ListRecordingsRequest& request,
                              Reply<v1::ListRecordingsResponse> reply) {
  if (recordings_ == nullptr) return reply(NoRecordings());
  const auto list = [this, call, request, reply] {
    v1::ListRecordingsResponse response;
    for (v1::Recording& recording : recordings_->List()) {
      if (!request.world().empty() && recording.world() != request.world()) continue;
      if (CheckRoleOnRecording(call, recording).ok())
        *response.add_recordings() = std::move(recording);
    }
    reply(std::move(response));
  };
  storing_.Post(list, reply);
}

void Handlers::FetchRecording(const Call& call, const v1::FetchRecordingRequest& request,
                              Reply<v1::FetchRecordingResponse> reply) {
  if (recordings_ == nullptr) return reply(NoRecordings());
  const absl::StatusOr<std::string> id = ReadRecordingId(request.name());
  if (!id.ok()) return reply(id.status());
  if (request.offset() < 0 || request.max_bytes() < 0)
    return reply(absl::InvalidArgumentError("offset, max_bytes: expected 0 or more"));
  const auto fetch = [this, call, id = *id, request, reply] {
    const absl::StatusOr<v1::Recording> found = FindRecording(call, id);
    if (!found.ok()) return reply(found.status());
    const std::int64_t wanted =
        request.max_bytes() == 0 ? kMaxChunkOfRecording : request.max_bytes();
    auto chunk = recordings_->Read(id, request.offset(), std::min(wanted, kMaxChunkOfRecording));
    if (chunk.ok() && chunk->data().empty() && found->state() != v1::Recording::STATE_ACTIVE) {
      absl::StatusOr<std::string> sum = file_sums_.Find(recordings_->PathOf(id));
      if (!sum.ok()) return reply(sum.status());
      chunk->set_sha256(*std::move(sum));
    }
    reply(std::move(chunk));
  };
  storing_.Post(fetch, reply);
}

void Handlers::DeleteRecording(const Call& call, const v1::DeleteRecordingRequest& request,
                               Reply<google::protobuf::Empty> reply) {
  if (recordings_ == nullptr) return reply(NoRecordings());
  const absl::StatusOr<std::string> id = ReadRecordingId(request.name());
  if (!id.ok()) return reply(id.status());
  const auto remove = [this, call, id = *id, reply] {
    absl::Status status = FindRecording(call, id).status();
    if (status.ok()) status = recordings_->Delete(id);
    if (!status.ok()) return reply(status);
    reply(google::protobuf::Empty());
  };
  storing_.Post(remove, reply);
}

// Loads the scene with the files in the recording; missing ones may be among the uploads.
absl::StatusOr<physics::SceneResult> Handlers::LoadRecordedSource(
    const v1::CreateWorldRequest& source, const RecordedFiles& files) const {
  if (source.files().empty()) return LoadSource(source);
  if (options_.objects == nullptr) return NoUploads();
  std::map<std::string, std::string> missing;
  for (const auto& [name, sha256] : source.files()) {
    if (!files.contains(name)) missing[name] = sha256;
  }
  const auto staged = options_.objects->Stage(missing);
  if (!staged.ok()) return staged.status();
  const std::string folder = (*staged)->folder().string();
  if (absl::Status status = UnpackFiles(files, folder); !status.ok()) return status;
  return LoadSceneWithFiles(source, folder);
}

void Handlers::Replay(const Call& call, const v1::ReplayRequest& request,
                      Reply<v1::ReplayResponse> reply) {
  if (recordings_ == nullptr) return reply(NoRecordings());
  const absl::StatusOr<std::string> id = ReadRecordingId(request.name());
  if (!id.ok()) return reply(id.status());
  const auto replay = [this, call, id = *id, reply] {
    const absl::StatusOr<v1::Recording> found = FindRecording(call, id);
    if (!found.ok()) return reply(found.status());
    ReplayOptions options;
    options.load = [this](const v1::RecordingStart& start, const RecordedFiles& files)
        -> absl::StatusOr<std::shared_ptr<const physics::Model>> {
      if (!start.has_source()) {
        return absl::FailedPreconditionError(
            "the world came from a scene file; replay it with `pliantd replay FILE --scene SCENE`");
      }
      absl::StatusOr<physics::SceneResult> scene = LoadRecordedSource(start.source(), files);
      if (!scene.ok()) return scene.status();
      if (!scene->ok()) return SceneError(scene->messages);
      return scene->model;
    };
    options.on_step = [this, &call](const physics::World&) -> absl::Status {
      if (draining()) return absl::UnavailableError("the server is shutting down");
      if (call.limits.cancelled && call.limits.cancelled->load())
        return absl::CancelledError("cancelled during the replay");
      if (timeline().Now() >= call.limits.deadline)
        return absl::DeadlineExceededError("the deadline passed during the replay");
      return absl::OkStatus();
    };
    reply(ReplayRecording(recordings_->PathOf(id), options));
  };
  replaying_.Post(replay, reply);
}

}  // namespace pliant::server
