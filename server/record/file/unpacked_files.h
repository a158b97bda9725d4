#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/record/file/replay.h"

namespace pliant::server {

// Writes the files of a recording below a folder. INVALID_ARGUMENT for a path that does not stay
// there; errors of the disk.
absl::Status UnpackFiles(const RecordedFiles& files, const std::string& folder);

// The files of a recording in a folder of their own, which the destructor removes.
class UnpackedFiles {
 public:
  // Makes the folder in `parent`. Errors as UnpackFiles.
  static absl::StatusOr<std::unique_ptr<UnpackedFiles>> Unpack(const RecordedFiles& files,
                                                               const std::string& parent);
  ~UnpackedFiles();
  UnpackedFiles(const UnpackedFiles&) = delete;

  const std::string& folder() const { return folder_; }

 private:
  explicit UnpackedFiles(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
};

}  // namespace pliant::server
