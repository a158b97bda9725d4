#include "physics/scene/import/choose_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "physics/scene/import/import_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"

namespace pliant::physics {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxTextBytes = 32 << 20;  // of all files that may name others
constexpr std::size_t kMaxNamed = 5;              // files in a message

struct Candidate {
  std::string path;  // relative to the folder
  ImportKind kind = ImportKind::kNone;
  std::string text;  // of robots and scenes, which name other files
};

std::string ExtensionOf(const std::string& path) {
  std::string extension = fs::path(path).extension().string();
  absl::AsciiStrToLower(&extension);
  return extension;
}

std::vector<Candidate> ListFiles(const std::string& folder) {
  std::vector<Candidate> files;
  std::int64_t left = kMaxTextBytes;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), last; !error && entry != last;
       entry.increment(error)) {
    std::error_code unreadable;
    if (!entry->is_regular_file(unreadable)) continue;
    Candidate file;
    file.path = entry->path().lexically_relative(folder).generic_string();
    file.kind = FindImportKind(entry->path().string());
    if (file.kind == ImportKind::kRobot || IsSceneFile(file.path)) {
      auto text = ReadMeshFileBytes(entry->path().string(), left, "text");
      if (text.ok()) file.text = *std::move(text);
      left -= static_cast<std::int64_t>(file.text.size());
    }
    files.push_back(std::move(file));
  }
  std::ranges::sort(files, {}, &Candidate::path);
  return files;
}

// Whether a YAML file has a top-level key of a scene.
bool ShowsScene(const Candidate& file) {
  if (!IsSceneFile(file.path)) return false;
  const std::string lines = absl::StrCat("\n", file.text);
  return std::ranges::any_of(
      std::vector<std::string>{"\nbodies:", "\nrobots:", "\ninstances:"},
      [&](const std::string& key) { return lines.find(key) != std::string::npos; });
}

// Whether a file is a robot; packages also have other XML files.
bool ShowsRobot(const Candidate& file) {
  const std::string extension = ExtensionOf(file.path);
  if (file.kind != ImportKind::kRobot || extension == ".srdf") return false;
  if (extension == ".urdf" || extension == ".sdf") return true;
  return std::ranges::any_of(
      std::vector<std::string_view>{"<robot", "<sdf", "<mujoco"},
      [&](std::string_view tag) { return file.text.find(tag) != std::string::npos; });
}

bool IsXacro(const Candidate& file) {
  return ExtensionOf(file.path) == ".xacro";
}

bool IsMesh(const Candidate& file) {
  return file.kind == ImportKind::kVolume || file.kind == ImportKind::kSurface;
}

// Whether the text contains the name of the file, not as part of a longer name.
bool Names(const std::string& text, const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const auto continues = [&](std::size_t at) {
    return absl::ascii_isalnum(text[at]) || text[at] == '_' || text[at] == '-' || text[at] == '.';
  };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !continues(at - 1)) && (end == text.size() || !continues(end))) return true;
  }
  return false;
}

std::vector<std::string> PathsOf(const std::vector<const Candidate*>& files) {
  std::vector<std::string> paths;
  for (const Candidate* file : files) paths.push_back(file->path);
  return paths;
}

std::string ListSome(std::vector<std::string> paths) {
  if (paths.size() <= kMaxNamed) return absl::StrJoin(paths, ", ");
  const std::size_t more = paths.size() - kMaxNamed;
  paths.resize(kMaxNamed);
  return absl::StrCat(absl::StrJoin(paths, ", "), " and ", more, " more");
}

}  // namespace

bool IsSceneFile(const std::string& path) {
  const std::string extension = ExtensionOf(path);
  return extension == ".yaml" || extension == ".yml";
}

absl::StatusOr<std::vector<std::string>> ChooseFiles(const std::string& folder) {
  const std::vector<Candidate> files = ListFiles(folder);
  std::vector<const Candidate*> all, scenes, texts, robots, meshes;
  for (const Candidate& file : files) {
    all.push_back(&file);
    if (ShowsScene(file)) scenes.push_back(&file);
    if (IsSceneFile(file.path)) texts.push_back(&file);
    if (ShowsRobot(file)) robots.push_back(&file);
    if (IsMesh(file)) meshes.push_back(&file);
  }
  // errors in a scene are reported when it is loaded
  if (scenes.empty() && robots.empty() && meshes.empty() && texts.size() == 1) scenes = texts;
  if (scenes.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(ListSome(PathsOf(scenes)),
                                                   ": several scenes; expected one, or "
                                                   "robots and meshes"));
  }
  if (scenes.size() == 1) return PathsOf(scenes);

  const std::vector<const Candidate*> readers = robots;
  const auto is_named = [&](const Candidate* file) {
    return std::ranges::any_of(readers, [&](const Candidate* reader) {
      return reader != file && Names(reader->text, file->path);
    });
  };
  if (!std::ranges::all_of(robots, [](const Candidate* robot) { return IsXacro(*robot); }))
    std::erase_if(robots, [](const Candidate* robot) { return IsXacro(*robot); });
  if (!std::ranges::all_of(robots, is_named)) std::erase_if(robots, is_named);
  std::erase_if(meshes, [&](const Candidate* mesh) {
    const bool is_in_folder = mesh->path.find('/') != std::string::npos;
    return is_named(mesh) || (!robots.empty() && is_in_folder);
  });
  std::vector<const Candidate*> chosen = robots;
  chosen.insert(chosen.end(), meshes.begin(), meshes.end());
  if (!chosen.empty()) return PathsOf(chosen);
  return absl::InvalidArgumentError(absl::StrCat(
      all.empty() ? "no file" : ListSome(PathsOf(all)),
      ": neither a scene (YAML) nor a robot (URDF, SDF, MJCF) nor a mesh (OBJ, STL, PLY, glTF, "
      "COLLADA; Gmsh, legacy VTK, Medit, Abaqus); expected one of these"));
}

}  // namespace pliant::physics
