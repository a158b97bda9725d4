#include "physics/scene/mesh_files/meshed_surface_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "physics/scene/mesh_files/surface_mesh_files.h"
#include "physics/scene/mesh_files/volume_mesh_files.h"
#include "xxhash.h"

namespace pliant::physics {
namespace {

constexpr double kHugeSurface = 50;  // [m]

// Whether a file may refer to others: glTF with buffers in other files, or in itself as text.
bool NamesFiles(std::string_view bytes) {
  return GuessFileKind(bytes) == "a glTF surface" && bytes.find("\"uri\"") != bytes.npos;
}

// `companions`: hashes of the files that it names.
std::string CalcKey(std::string_view bytes, const std::string& companions,
                    const SurfaceFileMeshing& options) {
  const XXH128_hash_t content = XXH3_128bits(bytes.data(), bytes.size());
  std::string whole = absl::StrCat(kMesherVersion, ",", content.high64, ",", content.low64, ",",
                                   options.meshing.refine ? ",refined," : ",");
  // append numbers as bits
  for (const double number : {options.scale, options.meshing.edge_length,
                              options.meshing.sharp_angle, options.meshing.max_refined})
    whole.append(reinterpret_cast<const char*>(&number), sizeof(number));
  whole.append(companions);
  return HashBytes(whole);
}

}  // namespace

bool IsSurfaceFile(std::string_view bytes, const std::string& name) {
  const std::string kind = GuessFileKind(bytes);
  if (!kind.empty()) return kind.ends_with("surface");
  const std::string lower = absl::AsciiStrToLower(name);
  const auto has = [&](const char* extension) { return lower.ends_with(extension); };
  return has(".stl") || has(".obj") || has(".ply") || has(".gltf") || has(".glb") || has(".dae");
}

absl::StatusOr<MeshedSurfaceFile> MeshSurfaceFile(std::string_view bytes, const std::string& name,
                                                  const CompanionFiles& companions,
                                                  const SurfaceFileMeshing& options,
                                                  const MeshCache& cache) {
  // the key of a surface in several files needs their contents
  const bool has_companions = NamesFiles(bytes);
  if (!has_companions) {
    if (std::optional<MeshedSurface> kept = cache.Find(CalcKey(bytes, "", options)))
      return MeshedSurfaceFile{std::move(kept->mesh), std::move(kept->warnings)};
  }
  std::string hashes;
  const CompanionFiles recorded = [&](const std::string& asked) -> absl::StatusOr<std::string> {
    absl::StatusOr<std::string> companion = companions(asked);
    if (companion.ok()) absl::StrAppend(&hashes, HashBytes(*companion), ";");
    return companion;
  };
  absl::StatusOr<SurfaceMeshFile> file =
      ReadOpenSurfaceMesh(bytes, name, companions ? recorded : nullptr);
  if (!file.ok()) return file.status();
  const std::string key = CalcKey(bytes, hashes, options);
  if (has_companions) {
    if (std::optional<MeshedSurface> kept = cache.Find(key))
      return MeshedSurfaceFile{std::move(kept->mesh), std::move(kept->warnings)};
  }
  // vertices that differ by rounding are joined where that closes the surface
  absl::StatusOr<SurfaceMeshFile> closed = CloseSurfaceMesh(*file, name);
  if (closed.ok()) file = std::move(closed);
  Eigen::Vector3d lower = file->mesh.vertices[0] * options.scale, upper = lower;
  for (Eigen::Vector3d& p : file->mesh.vertices) {
    p *= options.scale;
    lower = lower.cwiseMin(p);
    upper = upper.cwiseMax(p);
  }
  if (!(std::max(upper.maxCoeff(), -lower.minCoeff()) <= options.max_length)) {
    return absl::InvalidArgumentError(absl::StrCat("has a vertex beyond ", options.max_length,
                                                   " metres; expected less. Is the scale right?"));
  }
  SurfaceMeshing meshing = options.meshing;
  if (!(meshing.edge_length > 0)) meshing.edge_length = (upper - lower).maxCoeff() / kDefaultEdges;
  absl::StatusOr<MeshedSurface> made = MeshSurface(std::move(file->mesh), meshing);
  if (!made.ok()) {
    const double size = (upper - lower).maxCoeff();
    if (absl::IsCancelled(made.status()) || size <= kHugeSurface) return made.status();
    return absl::InvalidArgumentError(absl::StrCat(
        made.status().message(), ". It is ", size,
        " m long: if its lengths are millimetres, give scale: ", 0.001 * options.scale));
  }
  made->warnings.insert(made->warnings.begin(), file->warnings.begin(), file->warnings.end());
  cache.Keep(key, *made);
  return MeshedSurfaceFile{std::move(made->mesh), std::move(made->warnings)};
}

}  // namespace pliant::physics
