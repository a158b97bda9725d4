#include "physics/scene/robot_files/parts/companion_files.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "physics/scene/robot_files/parts/files_by_name.h"

namespace pliant::physics {

namespace fs = std::filesystem;

CompanionFiles ServeCompanions(std::string path, std::string jail) {
  return [path = std::move(path),
          jail = std::move(jail)](const std::string& name) -> absl::StatusOr<std::string> {
    const bool is_absolute = fs::path(name).is_absolute();
    const fs::path place = fs::path(path).parent_path() / name;
    std::error_code error;
    if (!jail.empty()) {
      const fs::path root = fs::weakly_canonical(jail, error);
      const fs::path resolved = error ? fs::path() : fs::weakly_canonical(place, error);
      const bool is_inside = !error && !is_absolute && IsInsideFolder(resolved, root);
      if (is_inside && fs::exists(resolved, error)) return ReadMeshFileBytes(resolved.string());
      // files may have been given without their folders
      if (const auto same_name = FindFileByName(name, root.string()); same_name.has_value())
        return ReadMeshFileBytes(*same_name);
      if (!is_inside)
        return absl::PermissionDeniedError(
            absl::StrCat("it names ", name, ", which is not below the folder of the files"));
    }
    if (is_absolute)
      return absl::PermissionDeniedError(
          absl::StrCat("it names ", name, "; expected a path relative to its own folder"));
    return ReadMeshFileBytes(place.string());
  };
}

}  // namespace pliant::physics
