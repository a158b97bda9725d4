#include "server/record/recordings.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/files/files.h"
#include "server/host/text.h"
#include "server/record/file/mcap_reader.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

constexpr char kExtension[] = ".mcap";
constexpr std::chrono::milliseconds kTurn{200};

bool IsRecordingId(const std::string& id) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !id.empty() && id.size() <= 63 && std::ranges::all_of(id, allowed);
}

absl::Status NoRecording(const std::string& id) {
  return absl::NotFoundError(absl::StrCat("there is no recording recordings/", Shorten(id, 80)));
}

}  // namespace

Recordings::Recordings(std::string folder, Timeline* timeline)
    : folder_(std::move(folder)),
      timeline_(timeline),
      worker_(timeline->Start([this] { return Write(); }, {"recordings"})) {}

Recordings::~Recordings() {
  Stop();
}

bool Recordings::Exists(const std::string& id) const {
  std::error_code error;
  return IsRecordingId(id) && fs::exists(PathOf(id), error);
}

std::vector<std::string> Recordings::ListIds() const {
  std::vector<std::string> ids;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (entry.path().extension() == kExtension) ids.push_back(entry.path().stem().string());
  }
  std::ranges::sort(ids);
  return ids;
}

absl::StatusOr<std::shared_ptr<WorldRecording>> Recordings::Start(WorldRecording::Options options) {
  if (!options.id.empty() && !IsRecordingId(options.id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("recording_id: \"", Shorten(options.id, 80),
                     "\" is not allowed; expected 1 to 63 of the characters a-z, 0-9 and -"));
  }
  const std::vector<std::string> ids = ListIds();
  if (ids.size() >= kMaxRecordings) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the server has ", ids.size(),
                     " recordings, which is its limit; delete one before starting another"));
  }
  std::lock_guard lock(mutex_);
  const auto active = std::ranges::count_if(known_, [](const auto& entry) {
    return entry.second->Describe().state() == v1::Recording::STATE_ACTIVE;
  });
  if (static_cast<std::size_t>(active) >= kMaxActive) {
    return absl::ResourceExhaustedError(absl::StrCat(
        active, " worlds are being recorded, which is the limit; stop a recording first"));
  }
  if (options.id.empty()) {
    do {
      options.id = absl::StrCat("recording-", ++last_number_);
    } while (Exists(options.id));
  }
  if (Exists(options.id)) {
    return absl::AlreadyExistsError(
        absl::StrCat("recordings/", options.id, " already exists; choose another recording_id"));
  }
  options.path = PathOf(options.id);
  const std::string id = options.id;
  auto recording =
      WorldRecording::Create(std::move(options), timeline_, [this] { worker_->Wake(); });
  if (!recording.ok()) return recording.status();
  known_[id] = *recording;
  return recording;
}

std::shared_ptr<WorldRecording> Recordings::Find(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : found->second;
}

absl::StatusOr<v1::Recording> Recordings::Describe(const std::string& id) const {
  if (const auto known = Find(id)) return known->Describe();
  if (!Exists(id)) return NoRecording(id);
  v1::Recording recording;
  recording.set_name("recordings/" + id);
  recording.set_state(v1::Recording::STATE_CUT_OFF);
  std::error_code error;
  const auto size = fs::file_size(PathOf(id), error);
  if (!error) recording.set_size(static_cast<std::int64_t>(size));
  const absl::StatusOr<McapSummary> summary = ReadMcapSummary(PathOf(id));
  if (!summary.ok()) return recording;
  ReadRecordingMetadata(summary->metadata, &recording);
  if (summary->is_complete) recording.set_state(v1::Recording::STATE_COMPLETE);
  return recording;
}

std::vector<v1::Recording> Recordings::List() const {
  std::vector<v1::Recording> recordings;
  for (const std::string& id : ListIds()) {
    if (auto recording = Describe(id); recording.ok()) recordings.push_back(*std::move(recording));
  }
  return recordings;
}

absl::Status Recordings::Delete(const std::string& id) {
  if (!Exists(id)) return NoRecording(id);
  std::lock_guard lock(mutex_);
  const auto known = known_.find(id);
  if (known != known_.end() && known->second->Describe().state() == v1::Recording::STATE_ACTIVE) {
    return absl::FailedPreconditionError(
        absl::StrCat("recordings/", id, " is being written; stop it first"));
  }
  const std::string path = PathOf(id);
  if (std::remove(path.c_str()) != 0) return FileError("remove", path, errno);
  if (known != known_.end()) known_.erase(known);
  return absl::OkStatus();
}

absl::StatusOr<v1::FetchRecordingResponse> Recordings::Read(const std::string& id,
                                                            std::int64_t offset,
                                                            std::int64_t max_bytes) const {
  if (!Exists(id)) return NoRecording(id);
  std::ifstream file(PathOf(id), std::ios::binary | std::ios::ate);
  const std::int64_t size = file.tellg();
  v1::FetchRecordingResponse response;
  response.set_size(size);
  const std::int64_t count = std::min(max_bytes, size - std::min(size, offset));
  response.mutable_data()->resize(static_cast<std::size_t>(count));
  file.seekg(std::min(size, offset));
  if (!file.read(response.mutable_data()->data(), count)) {
    return absl::UnavailableError(absl::StrCat("cannot read ", PathOf(id)));
  }
  return response;
}

SteadyTime Recordings::Write() {
  std::vector<std::shared_ptr<WorldRecording>> known;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, recording] : known_) known.push_back(recording);
  }
  bool is_active = false;
  for (const auto& recording : known) is_active = recording->Write() || is_active;
  return is_active ? timeline_->Now() + kTurn : kNever;
}

void Recordings::Stop() {
  worker_->Stop();
  std::lock_guard lock(mutex_);
  for (const auto& [id, recording] : known_) {
    recording->End("the server stopped", nullptr);
    recording->Write();
  }
}

}  // namespace pliant::server
