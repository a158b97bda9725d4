#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/scene/robot_files/parts/robot_log.h"

namespace pliant::physics {

// Finds and reads the files named in a robot file, within the jail, and keeps a hash of those
// that affect the motion and another one of those that only affect the looks.
class RobotFiles {
 public:
  RobotFiles(const RobotFileOptions& options, std::string robot_path);

  // The file that `uri` denotes in a file of `folder`: package://NAME/…, model://NAME/…, file:///…
  // or a path. Packages are folders of that name, or with that name in their package.xml, among the
  // parents of `folder`, beside them, and in `package_paths`. In a jail, a file that is not at its
  // place is found by its name.
  //
  // errors  NOT_FOUND: no such file, with where it was looked for; PERMISSION_DENIED: outside the
  // jail; INVALID_ARGUMENT
  absl::StatusOr<std::string> Find(const std::string& uri, const std::string& folder) const;

  // A file for a URI without one at its place. Where the beginning of the URI is that of another
  // machine or working folder, such as a package that is not here: the longest end of its path, of
  // a folder and a name at least, that exists below `folder` or one of its parents. Otherwise the
  // single file of that name, or the one with the most folders in common, in `folder` and its
  // subfolders, or in the package that the URI names.
  struct Moved {
    std::string path;
    std::string beginning;  // of the URI, which `place` replaces
    std::string place;      // a folder
  };
  std::optional<Moved> FindMoved(const std::string& uri, const std::string& folder) const;

  // As ReadMeshFileBytes. `moves` is false for files that do not affect the motion.
  absl::StatusOr<std::string> Read(const std::string& path, std::int64_t max_bytes,
                                   const std::string& kind = "mesh", bool moves = true);

  // The folder of the robot file, and of any file.
  const std::string& folder() const { return folder_; }
  static std::string FolderOf(const std::string& path);

  const std::string& hashes() const { return hashes_; }
  const std::string& looks_hashes() const { return looks_hashes_; }
  void AddHash(std::string_view bytes);

 private:
  // Calls `visit` with `folder` and its parents, except those outside the jail.
  void VisitParents(const std::string& folder,
                    const std::function<void(const std::string&)>& visit) const;
  std::optional<Moved> FindEnd(const std::string& path, std::size_t begin,
                               const std::string& folder) const;
  std::optional<Moved> FindName(const std::string& path, const std::string& folder) const;
  std::vector<std::string> FindPackage(const std::string& name, const std::string& folder,
                                       std::vector<std::string>* looked_in) const;
  absl::StatusOr<std::string> Search(const std::string& uri, const std::string& folder) const;
  absl::StatusOr<std::string> SearchAtPlace(const std::string& uri,
                                            const std::string& folder) const;
  bool IsPackage(const std::string& folder, const std::string& name) const;
  bool IsAllowed(const std::string& path) const;

  RobotFileOptions options_;
  std::string folder_;
  std::string jail_;  // canonical; empty when there is none
  std::string hashes_;
  std::string looks_hashes_;
  // package names of folders from their package.xml, and results of earlier searches
  mutable std::map<std::string, std::string> package_names_;
  mutable std::map<std::pair<std::string, std::string>, absl::StatusOr<std::string>> found_;
  // files in the jail and in folders of few entries, by their names
  mutable std::map<std::string, std::map<std::string, std::vector<std::string>>> files_in_;
};

}  // namespace pliant::physics
