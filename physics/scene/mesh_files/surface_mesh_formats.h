#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "physics/scene/mesh_files/surface_mesh_files.h"

namespace pliant::physics {

// The readers behind ReadSurfaceMesh: triangles as the file has them, vertices not joined.
absl::StatusOr<SurfaceMeshFile> ReadTextStl(std::string_view bytes, const std::string& name);
absl::StatusOr<SurfaceMeshFile> ReadBinaryStl(std::string_view bytes, const std::string& name);
// `companions`: reads files of materials; null: no parts.
absl::StatusOr<SurfaceMeshFile> ReadObj(std::string_view bytes, const std::string& name,
                                        const CompanionFiles& companions);
// MuJoCo's binary surfaces, which have no magic number: their length fits their counts.
bool IsMujocoMsh(std::string_view bytes);
absl::StatusOr<SurfaceMeshFile> ReadMujocoMsh(std::string_view bytes, const std::string& name);
// glTF, PLY and COLLADA with their parts, read by the program pliant_surface_reader; `format`
// "gltf", "glb", "ply" or "dae". Other files are read only through `companions`.
absl::StatusOr<SurfaceMeshFile> ReadForeignSurface(std::string_view bytes, const std::string& name,
                                                   const std::string& format,
                                                   const CompanionFiles& companions);

}  // namespace pliant::physics
