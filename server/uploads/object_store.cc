#include "server/uploads/object_store.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/files/files.h"
#include "server/host/text.h"

namespace pliant::server {
namespace {

namespace fs = std::filesystem;

constexpr char kUploading[] = "uploading";
constexpr char kStaged[] = "staged";
constexpr std::size_t kMaxFiles = 1000;

absl::Status DiskError(const fs::path& path, int error) {
  return absl::UnavailableError(absl::StrCat("cannot write ", path.string(), ": ",
                                             std::strerror(error),
                                             ". Free some space or mend the folder"));
}

absl::Status WriteAll(int file, std::string_view data, const fs::path& path) {
  while (!data.empty()) {
    const ssize_t written = write(file, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return DiskError(path, errno);
    data.remove_prefix(static_cast<std::size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status CheckPath(const std::string& path) {
  if (IsPathBelow(path)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("files: \"", Shorten(path, 80),
                   "\" is not allowed; expected a path below the scene's folder"));
}

}  // namespace

StagedFiles::~StagedFiles() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

ObjectStore::ObjectStore(Options options)
    : options_(std::move(options)), max_bytes_(options_.max_bytes) {}

ObjectStore::~ObjectStore() {
  for (const auto& [key, upload] : uploads_) close(upload.file);
}

absl::StatusOr<std::unique_ptr<ObjectStore>> ObjectStore::Open(Options options) {
  std::unique_ptr<ObjectStore> store(new ObjectStore(std::move(options)));
  const fs::path folder = store->options_.folder;
  std::error_code error;
  for (const char* left : {kUploading, kStaged}) fs::remove_all(folder / left, error);
  fs::create_directories(folder / kUploading, error);
  if (!error && access(folder.c_str(), R_OK | W_OK | X_OK) != 0)
    error = std::error_code(errno, std::generic_category());
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot use the folder ", folder.string(), ": ", error.message(),
                     "\n    Make it writable, or choose another with --data-dir."));
  }

  // objects of earlier runs, the one written last taken as the one used last
  std::vector<std::pair<fs::file_time_type, std::pair<std::string, std::int64_t>>> found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unreadable;
    const auto size = static_cast<std::int64_t>(entry->file_size(unreadable));
    if (IsSha256(name) && !unreadable)
      found.push_back({entry->last_write_time(unreadable), {name, size}});
  }
  std::ranges::sort(found);
  const SteadyTime now = store->options_.timeline->Now();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const SteadyTime last_use = now - std::chrono::milliseconds(found.size() - i);
    store->objects_[found[i].second.first] = {found[i].second.second, last_use};
  }
  return store;
}

void ObjectStore::SetMaxBytes(std::int64_t max_bytes) {
  std::lock_guard lock(mutex_);
  max_bytes_ = max_bytes;
  DropObjectsUntilHeld(max_bytes);
}

bool ObjectStore::Has(const std::string& sha256) const {
  std::lock_guard lock(mutex_);
  return objects_.contains(sha256);
}

fs::path ObjectStore::PathOf(const std::string& sha256) const {
  return fs::path(options_.folder) / sha256;
}

std::int64_t ObjectStore::CountBytes() const {
  std::int64_t bytes = 0;
  for (const auto& [sha256, object] : objects_) bytes += object.size;
  for (const auto& [key, upload] : uploads_) bytes += upload.size;
  return bytes;
}

absl::StatusOr<ObjectStore::Progress> ObjectStore::Append(const std::string& user,
                                                          const std::string& sha256,
                                                          std::int64_t size, std::int64_t offset,
                                                          std::string_view data) {
  if (!IsSha256(sha256)) {
    return absl::InvalidArgumentError(
        absl::StrCat("sha256: \"", Shorten(sha256, 80),
                     "\" is not allowed; expected 64 hexadecimal digits in lower case"));
  }
  const auto length = static_cast<std::int64_t>(data.size());
  if (size < 0 || offset < 0 || length > static_cast<std::int64_t>(kMaxChunk) ||
      offset > size - length) {
    return absl::InvalidArgumentError(absl::StrCat("data: ", length, " bytes at ", offset, " of ",
                                                   size, " are not allowed; expected at most ",
                                                   kMaxChunk, " within the object"));
  }

  std::lock_guard lock(mutex_);
  DropPausedUploads();
  if (const auto known = objects_.find(sha256); known != objects_.end()) {
    known->second.last_use = options_.timeline->Now();
    return Progress{known->second.size, true};
  }
  const UploadKey key(user, sha256);
  absl::StatusOr<Upload*> found = FindUpload(key, size);
  if (!found.ok()) return found.status();
  Upload* upload = *found;
  upload->last_use = options_.timeline->Now();
  if (offset > upload->received) {
    return absl::OutOfRangeError(absl::StrCat("offset: ", offset, " is too far; expected ",
                                              upload->received, ", where the next chunk begins"));
  }
  if (offset + length > upload->received) {
    data.remove_prefix(static_cast<std::size_t>(upload->received - offset));
    if (absl::Status status = WriteAll(upload->file, data, upload->path); !status.ok()) {
      Drop(key);  // the chunk may have been written in part
      return status;
    }
    upload->sum.Add(data);
    upload->received = offset + length;
  }
  if (upload->received == upload->size) return Complete(key, upload);
  return Progress{upload->received, false};
}

// Call with mutex_ locked, as the functions below.
absl::StatusOr<ObjectStore::Upload*> ObjectStore::FindUpload(const UploadKey& key,
                                                             std::int64_t size) {
  if (const auto found = uploads_.find(key); found != uploads_.end()) {
    if (found->second.size == size) return &found->second;
    Drop(key);  // it begins again
  }
  if (uploads_.size() >= kMaxUploads) {
    return absl::ResourceExhaustedError(absl::StrCat(
        uploads_.size(), " uploads are under way, which is the limit; try again in a moment"));
  }
  if (absl::Status status = MakeRoom(size); !status.ok()) return status;
  Upload upload;
  upload.path = fs::path(options_.folder) / kUploading / absl::StrCat(next_upload_++);
  upload.file = open(upload.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (upload.file < 0) return DiskError(upload.path, errno);
  upload.size = size;
  return &uploads_.emplace(key, std::move(upload)).first->second;
}

absl::Status ObjectStore::MakeRoom(std::int64_t size) {
  std::int64_t uploading = 0;
  for (const auto& [key, upload] : uploads_) uploading += upload.size;
  if (size > max_bytes_ - uploading) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the object has ", size, " bytes, and the server has ",
                     std::max<std::int64_t>(0, max_bytes_ - uploading), " of its ", max_bytes_,
                     " for uploads left; make it smaller, or wait until other uploads end"));
  }
  DropObjectsUntilHeld(max_bytes_ - size);
  return absl::OkStatus();
}

// Drops the least recently used objects until objects and uploads have at most `max_held` bytes.
void ObjectStore::DropObjectsUntilHeld(std::int64_t max_held) {
  for (std::int64_t held = CountBytes(); held > max_held && !objects_.empty();) {
    const auto oldest = std::ranges::min_element(
        objects_, {}, [](const auto& entry) { return entry.second.last_use; });
    std::error_code error;
    fs::remove(PathOf(oldest->first), error);
    held -= oldest->second.size;
    objects_.erase(oldest);
  }
}

absl::StatusOr<ObjectStore::Progress> ObjectStore::Complete(const UploadKey& key, Upload* upload) {
  const std::string sum = upload->sum.Finish();
  if (sum != key.second) {
    Drop(key);
    return absl::InvalidArgumentError(absl::StrCat("sha256: the content has the SHA-256 ", sum,
                                                   ", not ", key.second,
                                                   "; upload it again from the start"));
  }
  const fs::path path = PathOf(key.second);
  if (fsync(upload->file) != 0 || std::rename(upload->path.c_str(), path.c_str()) != 0) {
    const int error = errno;
    Drop(key);
    return DiskError(path, error);
  }
  SyncFolder(options_.folder).IgnoreError();  // the object is there, at least until a loss of power
  const std::int64_t size = upload->size;
  close(upload->file);
  uploads_.erase(key);
  objects_[key.second] = {size, options_.timeline->Now()};
  return Progress{size, true};
}

void ObjectStore::Drop(const UploadKey& key) {
  const auto found = uploads_.find(key);
  close(found->second.file);
  std::error_code error;
  fs::remove(found->second.path, error);
  uploads_.erase(found);
}

void ObjectStore::DropPausedUploads() {
  const SteadyTime end = options_.timeline->Now() - kMaxPause;
  std::vector<UploadKey> paused;
  for (const auto& [key, upload] : uploads_) {
    if (upload.last_use < end) paused.push_back(key);
  }
  for (const UploadKey& key : paused) Drop(key);
}

absl::StatusOr<std::string> ObjectStore::Read(const std::string& sha256, std::int64_t max_bytes) {
  std::ifstream file;
  std::int64_t size = 0;
  {
    // an open file stays readable when its object is dropped
    std::lock_guard lock(mutex_);
    const auto found = objects_.find(sha256);
    if (found == objects_.end()) {
      return absl::NotFoundError(absl::StrCat("sha256: ", Shorten(sha256, 80),
                                              " is not uploaded; upload it with UploadObject"));
    }
    found->second.last_use = options_.timeline->Now();
    size = found->second.size;
    file.open(PathOf(sha256), std::ios::binary);
  }
  if (size > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sha256: an object of ", size, " bytes is not allowed; expected at most ", max_bytes));
  }
  std::string bytes(static_cast<std::size_t>(size), '\0');
  if (!file.read(bytes.data(), size)) {
    return absl::UnavailableError(
        absl::StrCat("cannot read ", PathOf(sha256).string(), ". Upload it again"));
  }
  return bytes;
}

absl::StatusOr<std::unique_ptr<StagedFiles>> ObjectStore::Stage(
    const std::map<std::string, std::string>& files) {
  std::uint64_t number = 0;
  {
    std::lock_guard lock(mutex_);
    number = next_stage_++;
  }
  auto staged =
      std::make_unique<StagedFiles>(fs::path(options_.folder) / kStaged / absl::StrCat(number));
  if (absl::Status status = Link(files, staged->folder()); !status.ok()) return status;
  return staged;
}

absl::Status ObjectStore::Link(const std::map<std::string, std::string>& files,
                               const fs::path& folder) {
  if (files.size() > kMaxFiles) {
    return absl::InvalidArgumentError(
        absl::StrCat("files: ", files.size(), " are not allowed; expected at most ", kMaxFiles));
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return DiskError(folder, error.value());
  for (const auto& [name, sha256] : files) {
    if (absl::Status status = CheckPath(name); !status.ok()) return status;
    std::lock_guard lock(mutex_);  // it is not dropped before it is linked
    const auto found = objects_.find(sha256);
    if (found == objects_.end()) {
      return absl::NotFoundError(absl::StrCat("files: \"", Shorten(name, 80), "\" (",
                                              Shorten(sha256, 80),
                                              ") is not uploaded; upload it with UploadObject"));
    }
    found->second.last_use = options_.timeline->Now();
    const fs::path place = folder / fs::path(name).lexically_normal();
    fs::create_directories(place.parent_path(), error);
    if (!error) fs::create_hard_link(PathOf(sha256), place, error);
    if (error) return DiskError(place, error.value());
  }
  return absl::OkStatus();
}

}  // namespace pliant::server
