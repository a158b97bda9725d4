#include "pliant/client.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"

#include "clients/cpp/connection.h"
#include "clients/cpp/files.h"
#include "clients/cpp/names.h"
#include "grpc/health/v1/health.pb.h"

namespace pliant {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUploadChunk = 1 << 20;
constexpr std::int64_t kComparedBytes = 64 << 10;  // before a download is resumed
constexpr int kMaxResumptions = 100;               // in a row, without a byte received

std::string Prefixed(std::string_view prefix, std::string_view name) {
  return std::string(name.starts_with(prefix) ? "" : prefix) + std::string(name);
}

absl::Status CannotWrite(const std::string& file) {
  return FileError(file, "cannot be written; check the folder and the space on the disk");
}

// Number of bytes of a recording that an interrupted download left in `part`; 0 if its last bytes
// are not those of the recording.
absl::StatusOr<std::int64_t> FindStart(Client* client, const std::string& recording,
                                       const std::string& part) {
  std::error_code error;
  const auto size = static_cast<std::int64_t>(fs::file_size(part, error));
  if (error || size == 0) return 0;
  v1::FetchRecordingRequest request;
  request.set_name(recording);
  request.set_offset(std::max<std::int64_t>(0, size - kComparedBytes));
  request.set_max_bytes(static_cast<std::int32_t>(size - request.offset()));
  const auto end = client->Call(request);
  if (absl::IsOutOfRange(end.status())) return 0;
  if (!end.ok()) return end.status();
  std::ifstream file(part, std::ios::binary);
  std::string ours(static_cast<std::size_t>(size - request.offset()), '\0');
  file.seekg(request.offset());
  file.read(ours.data(), static_cast<std::streamsize>(ours.size()));
  return file && ours == end->data() ? size : 0;
}

// Compares the hash of a downloaded file with that of the server, which replies it at the end of a
// finished recording. `request` asks for the bytes after the end.
absl::Status CompareSums(Client* client, const v1::FetchRecordingRequest& request,
                         const std::string& file) {
  const auto end = client->Call(request);
  if (!end.ok()) return end.status();
  if (end->sha256().empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> ours = CalcFileSha256(file);
  if (!ours.ok()) return ours.status();
  if (*ours == end->sha256()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(request.name(), ": the copy has the SHA-256 ", *ours,
                                          " and the server's file ", end->sha256(),
                                          "; the copy is removed; fetch it again"));
}

}  // namespace

std::string WorldName(std::string_view name) {
  return Prefixed("worlds/", name);
}

std::string RecordingName(std::string_view name) {
  return Prefixed("recordings/", name);
}

Client::Client(ClientOptions options, std::shared_ptr<Connection> connection)
    : options_(std::move(options)), connection_(std::move(connection)) {}

Client::~Client() {
  connection_->CancelAll();
  connection_->WaitForCallbacks();
}

absl::StatusOr<std::shared_ptr<Client>> Client::Connect(ClientOptions options) {
  absl::StatusOr<std::shared_ptr<Connection>> connection = Connection::Make(options);
  if (!connection.ok()) return connection.status();
  std::shared_ptr<Client> client(new Client(std::move(options), *std::move(connection)));
  if (client->options_.checks_server) {
    const absl::Status status = client->CheckServer().status();
    if (!status.ok()) return status;
  }
  return client;
}

std::chrono::milliseconds Client::TimeoutOf(Duration duration, const CallOptions& options) const {
  if (options.timeout.count() > 0) return options.timeout;
  return duration == Duration::kQuick ? options_.timeout : options_.long_timeout;
}

absl::Status Client::CallBlocking(const char* method, Duration duration,
                                  const google::protobuf::MessageLite& request,
                                  google::protobuf::MessageLite* response,
                                  const CallOptions& options) {
  return connection_->Call(method, request, response, TimeoutOf(duration, options));
}

void Client::Start(const char* method, Duration duration,
                   const google::protobuf::MessageLite& request,
                   google::protobuf::MessageLite* response, const CallOptions& options,
                   std::function<void(const absl::Status&)> done) {
  connection_->Start(method, request, response, TimeoutOf(duration, options), std::move(done));
}

void Client::CancelAll() {
  connection_->CancelAll();
}

absl::StatusOr<v1::ServerInfo> Client::CheckServer() {
  absl::StatusOr<v1::ServerInfo> info = Call(v1::GetServerRequest());
  if (!info.ok()) return info;
  const absl::Status fits = CheckVersions(PLIANT_VERSION, info->version());
  if (!fits.ok()) return fits;
  return info;
}

absl::StatusOr<std::string> Client::CheckHealth() {
  grpc::health::v1::HealthCheckRequest request;
  grpc::health::v1::HealthCheckResponse response;
  const absl::Status status =
      CallBlocking("/grpc.health.v1.Health/Check", Duration::kQuick, request, &response, {});
  if (!status.ok()) return status;
  return grpc::health::v1::HealthCheckResponse::ServingStatus_Name(response.status());
}

absl::StatusOr<World> Client::CreateWorld(v1::CreateWorldRequest request, const std::string& folder,
                                          const UploadProgress& progress) {
  if (!folder.empty()) {
    const auto& imported = request.imported().files();
    const auto files = request.has_imported()
                           ? FindImportedFiles({imported.begin(), imported.end()}, folder)
                           : FindNamedFiles(request.scene_yaml(), folder);
    if (!files.ok()) return files.status();
    for (std::size_t i = 0; i < files->size(); ++i) {
      const std::string& file = (*files)[i];
      if (progress) progress(i, files->size(), file);
      const absl::StatusOr<std::string> content = ReadWholeFile((fs::path(folder) / file).string());
      if (!content.ok()) return content.status();
      absl::StatusOr<std::string> sha256 = Upload(*content);
      if (!sha256.ok()) return sha256.status();
      (*request.mutable_files())[file] = *std::move(sha256);
    }
  }
  const absl::StatusOr<v1::World> world = Call(request);
  if (!world.ok()) return world.status();
  return World(shared_from_this(), world->name(),
               {world->warnings().begin(), world->warnings().end()});
}

absl::StatusOr<World> Client::CreateWorldFromFile(const std::string& scene_file,
                                                  v1::CreateWorldRequest request,
                                                  const UploadProgress& progress) {
  absl::StatusOr<std::string> scene = ReadWholeFile(scene_file);
  if (!scene.ok()) return scene.status();
  request.set_scene_yaml(*std::move(scene));
  request.set_file_name(scene_file);
  const std::string folder = fs::path(scene_file).parent_path().string();
  return CreateWorld(std::move(request), folder.empty() ? "." : folder, progress);
}

World Client::GetWorld(std::string_view name) {
  return World(shared_from_this(), WorldName(name));
}

absl::StatusOr<World> Client::FindWorld(std::string_view name) {
  World world = GetWorld(name);
  const absl::Status status = world.Get().status();
  if (status.ok()) return world;
  if (!absl::IsNotFound(status)) return status;
  const absl::StatusOr<std::vector<v1::World>> worlds = ListWorlds();
  if (!worlds.ok()) return status;
  std::vector<std::string> names;
  for (const v1::World& other : *worlds) names.push_back(other.name().substr(sizeof("worlds")));
  return absl::NotFoundError(absl::StrCat(
      "there is no world \"", world.name(),
      "\"; there are: ", ListNearest(world.name().substr(sizeof("worlds")), std::move(names))));
}

absl::StatusOr<std::vector<v1::World>> Client::ListWorlds(v1::ListWorldsRequest request) {
  std::vector<v1::World> worlds;
  do {
    absl::StatusOr<v1::ListWorldsResponse> page = Call(request);
    if (!page.ok()) return page.status();
    for (v1::World& world : *page->mutable_worlds()) worlds.push_back(std::move(world));
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return worlds;
}

absl::StatusOr<v1::StepWorldsResponse> Client::StepWorlds(const v1::StepWorldsRequest& request) {
  return Call(request);
}

absl::StatusOr<std::string> Client::Upload(std::string_view bytes) {
  v1::UploadObjectRequest request;
  request.set_sha256(CalcSha256(bytes));
  request.set_size(static_cast<std::int64_t>(bytes.size()));
  v1::FindMissingObjectsRequest asked;
  asked.add_sha256(request.sha256());
  const auto missing = Call(asked);
  if (!missing.ok()) return missing.status();
  bool is_complete = missing->sha256().empty();
  while (!is_complete) {
    const auto chunk = bytes.substr(static_cast<std::size_t>(request.offset()), kUploadChunk);
    request.set_data(chunk.data(), chunk.size());
    const auto response = Call(request);
    if (!response.ok()) return response.status();
    is_complete = response->complete();
    request.set_offset(response->received());
  }
  return request.sha256();
}

absl::StatusOr<std::int64_t> Client::FetchRecording(const std::string& recording,
                                                    const std::string& file) {
  v1::FetchRecordingRequest request;
  request.set_name(RecordingName(recording));
  const std::string part = file + ".part";
  const absl::StatusOr<std::int64_t> start = FindStart(this, request.name(), part);
  if (!start.ok()) return start.status();
  std::ofstream stream(part, *start > 0 ? std::ios::binary | std::ios::app : std::ios::binary);
  if (!stream) return CannotWrite(part);
  request.set_offset(*start);
  std::int64_t size = -1;
  int resumptions = 0;
  while (size != request.offset()) {
    const auto chunk = Call(request);
    if (absl::IsUnavailable(chunk.status()) && size >= 0 && ++resumptions <= kMaxResumptions) {
      // the server may be back soon: resume at the same offset
      std::this_thread::sleep_for(options_.max_backoff);
      continue;
    }
    if (!chunk.ok()) return chunk.status();
    resumptions = 0;
    // a recording that is still being written is fetched up to its size in the first reply
    if (size < 0) size = std::max(chunk->size(), request.offset());
    const auto count =
        std::min(static_cast<std::int64_t>(chunk->data().size()), size - request.offset());
    if (count == 0 && size != request.offset())
      return absl::DataLossError(absl::StrCat(request.name(), " has become shorter than it was"));
    stream.write(chunk->data().data(), count);
    request.set_offset(request.offset() + count);
    if (!stream) return CannotWrite(part);
  }
  stream.close();
  std::error_code error;
  if (stream) {
    const absl::Status status = CompareSums(this, request, part);
    // later downloads must not resume a damaged part
    if (absl::IsDataLoss(status)) fs::remove(part, error);
    // the earlier part was of another recording with the same last bytes
    if (absl::IsDataLoss(status) && *start > 0) return FetchRecording(recording, file);
    if (!status.ok()) return status;
  }
  fs::rename(part, file, error);
  if (!stream || error) return CannotWrite(file);
  return size;
}

}  // namespace pliant
