#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "physics/scene/mesh_files/volume_mesh_files.h"

namespace pliant::physics {

// The readers behind ReadVolumeMesh, for bytes that begin as their format does.
bool IsLegacyVtk(std::string_view bytes);
absl::StatusOr<VolumeMeshFile> ReadLegacyVtk(std::string_view bytes, const std::string& name);

bool IsGmsh(std::string_view bytes);
absl::StatusOr<VolumeMeshFile> ReadGmsh(std::string_view bytes, const std::string& name);

bool IsMedit(std::string_view bytes);
absl::StatusOr<VolumeMeshFile> ReadMedit(std::string_view bytes, const std::string& name);

bool IsAbaqus(std::string_view bytes);
absl::StatusOr<VolumeMeshFile> ReadAbaqus(std::string_view bytes, const std::string& name);

}  // namespace pliant::physics
