#include "server/record/file/unpacked_files.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "server/files/files.h"

namespace pliant::server {

namespace fs = std::filesystem;

absl::Status UnpackFiles(const RecordedFiles& files, const std::string& folder) {
  for (const auto& [name, contents] : files) {
    if (!IsPathBelow(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the recording has a file that does not stay in its folder: ", name));
    }
    const fs::path path = fs::path(folder) / fs::path(name).lexically_normal();
    absl::Status status = MakeFolder(path.parent_path().string());
    if (status.ok()) status = WriteWholeFile(path.string(), contents);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<UnpackedFiles>> UnpackedFiles::Unpack(const RecordedFiles& files,
                                                                     const std::string& parent) {
  std::string folder = (fs::path(parent) / "pliant-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return FileError("make a folder in", parent, errno);
  std::unique_ptr<UnpackedFiles> unpacked(new UnpackedFiles(folder));
  if (absl::Status status = UnpackFiles(files, folder); !status.ok()) return status;
  return unpacked;
}

UnpackedFiles::~UnpackedFiles() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

}  // namespace pliant::server
