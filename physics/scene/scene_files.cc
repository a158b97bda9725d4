// Mesh files of a scene: where they may be, and their part in the model's hash.

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/scene/compiler.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/robot_files/parts/companion_files.h"
#include "physics/scene/robot_files/parts/files_by_name.h"
#include "physics/scene/text/field_checks.h"
#include "physics/scene/text/scalar_text.h"
#include "pliant/v1/scene.pb.h"
#include "xxhash.h"

namespace pliant::physics {

namespace fs = std::filesystem;

std::optional<std::string> SceneCompiler::FindFile(const std::string& file,
                                                   const std::string& path) {
  if (file.empty()) {
    Missing(path, "the path of a file", &log_);
    return std::nullopt;
  }
  if (!options_.allow_files) {
    log_.Error(path,
               absl::StrCat(Quoted(file),
                            " names a file, but files may not be read here. Use a primitive"));
    return std::nullopt;
  }
  if (options_.jail.empty()) return (fs::path(folder_) / file).string();
  // resolve symbolic links and ".."
  std::error_code error;
  const fs::path jail = fs::weakly_canonical(options_.jail, error);
  const fs::path resolved = error ? fs::path() : fs::weakly_canonical(jail / file, error);
  const bool is_inside = !error && IsInsideFolder(resolved, jail) && !fs::path(file).is_absolute();
  if (!is_inside || !fs::exists(resolved, error)) {
    // files that were given without their folders
    const std::optional<std::string> same_name = FindFileByName(file, jail.string());
    if (same_name.has_value()) return same_name;
  }
  if (!is_inside) {
    log_.Error(path, absl::StrCat(Quoted(file),
                                  " is outside the scene's folder; expected a path within it"));
    return std::nullopt;
  }
  return resolved.string();
}

std::optional<SceneCompiler::MeshFile> SceneCompiler::ReadMeshFile(const std::string& file,
                                                                   const std::string& path) {
  const std::optional<std::string> place = FindFile(file, path);
  if (!place.has_value()) return std::nullopt;
  absl::StatusOr<std::string> bytes = ReadMeshFileBytes(*place);
  if (!bytes.ok()) {
    log_.Error(path, std::string(bytes.status().message()));
    return std::nullopt;
  }
  AddToHash(*bytes);
  const CompanionFiles serve = ServeCompanions(*place, options_.jail);
  return MeshFile{*std::move(bytes), [this, serve](const std::string& name) {
                    absl::StatusOr<std::string> companion = serve(name);
                    if (companion.ok()) AddToHash(*companion);
                    return companion;
                  }};
}

void SceneCompiler::AddToHash(const std::string& bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  absl::StrAppend(&mesh_hashes_, hash.high64, ",", hash.low64, ";");
}

}  // namespace pliant::physics
