#include "physics/scene/robot_files/parts/robot_files.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/robot_files/parts/files_by_name.h"
#include "physics/scene/robot_files/parts/xml_tree.h"

namespace pliant::physics {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxPackageXmlBytes = 1 << 20;
constexpr std::size_t kMaxEntries = 10'000;  // of a folder that is searched for names
constexpr std::ptrdiff_t kMaxFolders = 32;   // of the end of a path that is searched for

bool Exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && !error;
}

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && !error;
}

std::string WithForwardSlashes(std::string path) {
  std::replace(path.begin(), path.end(), '\\', '/');
  return path;
}

}  // namespace

RobotFiles::RobotFiles(const RobotFileOptions& options, std::string robot_path)
    : options_(options), folder_(FolderOf(robot_path)) {
  if (options_.jail.empty()) return;
  std::error_code error;
  jail_ = fs::weakly_canonical(fs::absolute(options_.jail, error), error).string();
  if (error || jail_.empty()) jail_ = "/nowhere";
}

std::string RobotFiles::FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

bool RobotFiles::IsAllowed(const std::string& path) const {
  if (jail_.empty()) return true;
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  // resolve symbolic links and ".."
  const fs::path canonical = error ? fs::path() : fs::weakly_canonical(absolute, error);
  return !error && IsInsideFolder(canonical, jail_);
}

bool RobotFiles::IsPackage(const std::string& folder, const std::string& name) const {
  const fs::path path = fs::path(folder).lexically_normal();
  if ((path.has_filename() ? path.filename() : path.parent_path().filename()) == name) return true;
  const auto known = package_names_.find(folder);
  if (known != package_names_.end()) return known->second == name;
  std::string& found = package_names_[folder];
  for (const char* manifest : {"package.xml", "model.config"}) {
    const std::string file = (path / manifest).string();
    if (!Exists(file)) continue;
    const auto bytes = ReadMeshFileBytes(file, kMaxPackageXmlBytes);
    if (!bytes.ok()) continue;
    RobotLog unheard;
    const auto root = ReadXml(*bytes, std::make_shared<const std::string>(file), &unheard);
    const XmlElement* element = root.has_value() ? root->Child("name") : nullptr;
    if (element != nullptr) found = element->text;
  }
  return found == name;
}

void RobotFiles::VisitParents(const std::string& folder,
                              const std::function<void(const std::string&)>& visit) const {
  std::error_code error;
  fs::path at = fs::absolute(folder, error).lexically_normal();
  if (error) return;
  if (!at.has_filename()) at = at.parent_path();
  while (true) {
    if (IsAllowed(at.string())) visit(at.string());
    if (!at.has_parent_path() || at.parent_path() == at) return;
    at = at.parent_path();
  }
}

std::vector<std::string> RobotFiles::FindPackage(const std::string& name, const std::string& folder,
                                                 std::vector<std::string>* looked_in) const {
  std::vector<std::string> found;
  const auto try_folder = [&](const std::string& candidate) {
    looked_in->push_back(candidate);
    const std::string inside = (fs::path(candidate) / name).string();
    if (Exists(inside) && !IsFile(inside)) found.push_back(inside);
    if (IsPackage(candidate, name)) found.push_back(candidate);
  };
  for (const std::string& path : options_.package_paths) {
    // do not even look outside the jail
    if (IsAllowed(path)) try_folder(path);
  }
  VisitParents(folder, try_folder);
  return found;
}

absl::StatusOr<std::string> RobotFiles::Find(const std::string& uri,
                                             const std::string& folder) const {
  // cached, as robots name the same few files many times
  const auto known = found_.find({uri, folder});
  if (known != found_.end()) return known->second;
  return found_.emplace(std::pair(uri, folder), Search(uri, folder)).first->second;
}

absl::StatusOr<std::string> RobotFiles::Search(const std::string& uri,
                                               const std::string& folder) const {
  absl::StatusOr<std::string> found = SearchAtPlace(uri, folder);
  const bool is_elsewhere =
      absl::IsNotFound(found.status()) || absl::IsPermissionDenied(found.status());
  if (!is_elsewhere || jail_.empty() || !options_.allow_files) return found;
  const std::optional<Moved> same_name = FindName(WithForwardSlashes(uri), jail_);
  if (same_name.has_value()) return same_name->path;
  if (absl::IsPermissionDenied(found.status())) return found;
  return absl::NotFoundError(absl::StrCat(
      "\"", uri,
      "\": no such file, and no single one of this name, was given with the robot; add it"));
}

absl::StatusOr<std::string> RobotFiles::SearchAtPlace(const std::string& uri,
                                                      const std::string& folder) const {
  if (!options_.allow_files) {
    return absl::PermissionDeniedError(
        absl::StrCat("\"", uri, "\" names a file, but files may not be read here"));
  }
  const std::string path = WithForwardSlashes(uri);
  const std::size_t colon = path.find("://");
  const std::string scheme = colon == std::string::npos ? "" : path.substr(0, colon);
  std::vector<std::string> candidates;
  std::vector<std::string> looked_in;
  if (scheme == "package" || scheme == "model") {
    const std::string rest = path.substr(colon + 3);
    const std::size_t slash = rest.find('/');
    const std::string name = rest.substr(0, slash);
    const std::string inside = slash == std::string::npos ? "" : rest.substr(slash + 1);
    if (name.empty() || name == "." || name == "..")
      return absl::InvalidArgumentError(
          absl::StrCat("\"", uri, "\" names no package; expected ", scheme, "://NAME/FILE"));
    for (const std::string& place : FindPackage(name, folder, &looked_in)) {
      const std::string candidate = (fs::path(place) / inside).lexically_normal().string();
      if (std::find(candidates.begin(), candidates.end(), candidate) == candidates.end())
        candidates.push_back(candidate);
    }
    if (candidates.empty()) {
      return absl::NotFoundError(absl::StrCat(
          "\"", uri, "\": no package \"", name, "\" was found in ",
          looked_in.empty() ? std::string("any folder that may be read")
                            : absl::StrJoin(looked_in, ", "),
          ". Give its parent folder in `package_paths`, or put the robot's file into the package"));
    }
  } else if (scheme == "file") {
    candidates.push_back(path.substr(colon + 3));
  } else if (!scheme.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", uri, "\": ", scheme,
                     ":// is not read; expected package://, model://, file:// or a path"));
  } else {
    candidates.push_back(fs::path(path).is_absolute() ? path : (fs::path(folder) / path).string());
  }
  bool outside = false;
  for (const std::string& candidate : candidates) {
    if (!IsAllowed(candidate)) {
      outside = true;
      continue;
    }
    if (Exists(candidate)) return fs::path(candidate).lexically_normal().string();
  }
  if (outside) {
    return absl::PermissionDeniedError(absl::StrCat(
        "\"", uri, "\" leaves the folder that may be read; expected a file within it"));
  }
  return absl::NotFoundError(
      absl::StrCat("\"", uri, "\": no such file; looked for ", absl::StrJoin(candidates, ", ")));
}

std::optional<RobotFiles::Moved> RobotFiles::FindEnd(const std::string& path, std::size_t begin,
                                                     const std::string& folder) const {
  // the places in `path` where its ends begin, the longest first
  std::vector<std::size_t> ends;
  for (std::size_t at = begin; at < path.size(); at = path.find('/', at)) {
    at = std::min(path.find_first_not_of('/', at), path.size());
    if (at == path.size()) break;
    const std::string_view part = std::string_view(path).substr(at, path.find('/', at) - at);
    if (part == "..") ends.clear();
    if (part != "." && part != "..") ends.push_back(at);
  }
  if (!ends.empty()) ends.pop_back();  // a name alone may be that of another robot's file
  if (std::ssize(ends) > kMaxFolders) ends.erase(ends.begin(), ends.end() - kMaxFolders);
  for (const std::size_t end : ends) {
    std::optional<Moved> found;
    VisitParents(folder, [&](const std::string& parent) {
      const std::string candidate =
          (fs::path(parent) / path.substr(end)).lexically_normal().string();
      if (found.has_value() || !IsAllowed(candidate) || !IsFile(candidate)) return;
      found = Moved{candidate, path.substr(0, end), parent};
    });
    if (found.has_value()) return found;
  }
  return std::nullopt;
}

std::optional<RobotFiles::Moved> RobotFiles::FindName(const std::string& path,
                                                      const std::string& folder) const {
  if (!IsAllowed(folder)) return std::nullopt;
  const auto [listed, fresh] = files_in_.try_emplace(folder);
  if (fresh) {
    // in a jail, a file is found by its name wherever it is
    const std::size_t limit =
        folder == jail_ ? std::numeric_limits<std::size_t>::max() : kMaxEntries;
    for (std::string& file : ListFiles(folder, limit).value_or(std::vector<std::string>()))
      listed->second[fs::path(file).filename().string()].push_back(std::move(file));
  }
  const std::size_t name = path.rfind('/') + 1;
  const auto same_name = listed->second.find(path.substr(name));
  if (same_name == listed->second.end()) return std::nullopt;
  const std::optional<std::string> file = PickFileByName(path, folder, same_name->second);
  if (!file.has_value()) return std::nullopt;
  return Moved{*file, path.substr(0, name), FolderOf(*file)};
}

std::optional<RobotFiles::Moved> RobotFiles::FindMoved(const std::string& uri,
                                                       const std::string& folder) const {
  if (!options_.allow_files) return std::nullopt;
  const std::string path = WithForwardSlashes(uri);
  const std::size_t scheme = path.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  if (begin > 0 && !path.starts_with("file://")) {
    std::vector<std::string> looked_in;
    const std::string name = path.substr(begin, path.find('/', begin) - begin);
    const std::vector<std::string> packages = FindPackage(name, folder, &looked_in);
    for (const std::string& package : packages) {
      if (std::optional<Moved> found = FindName(path, package)) return found;
    }
    if (!packages.empty()) return std::nullopt;
  }
  if (std::optional<Moved> found = FindEnd(path, begin, folder)) return found;
  return FindName(path, folder);
}

absl::StatusOr<std::string> RobotFiles::Read(const std::string& path, std::int64_t max_bytes,
                                             const std::string& kind, bool moves) {
  if (!options_.allow_files || !IsAllowed(path))
    return absl::PermissionDeniedError(absl::StrCat(path, " may not be read"));
  absl::StatusOr<std::string> bytes = ReadMeshFileBytes(path, max_bytes, kind);
  if (bytes.ok()) AppendFileHash(*bytes, moves ? &hashes_ : &looks_hashes_);
  return bytes;
}

void RobotFiles::AddHash(std::string_view bytes) {
  AppendFileHash(bytes, &hashes_);
}

}  // namespace pliant::physics
