#include "physics/scene/mesh_files/contained/surface_reading.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace pliant::physics {
namespace {

template <typename Items>
void Append(const Items& items, std::string* bytes) {
  const std::uint64_t count = items.size();
  bytes->append(reinterpret_cast<const char*>(&count), sizeof count);
  if (count > 0)
    bytes->append(reinterpret_cast<const char*>(items.data()), count * sizeof(items[0]));
}

template <typename Items>
bool Take(std::string_view* bytes, Items* items) {
  std::uint64_t count = 0;
  if (bytes->size() < sizeof count) return false;
  std::memcpy(&count, bytes->data(), sizeof count);
  bytes->remove_prefix(sizeof count);
  if (count > bytes->size() / sizeof((*items)[0])) return false;
  const std::size_t size = count * sizeof((*items)[0]);
  items->resize(count);
  if (count > 0) std::memcpy(static_cast<void*>(items->data()), bytes->data(), size);
  bytes->remove_prefix(size);
  return true;
}

void AppendMesh(const TriangleMesh& mesh, std::string* bytes) {
  Append(mesh.vertices, bytes);
  Append(mesh.triangles, bytes);
}
bool TakeMesh(std::string_view* bytes, TriangleMesh* mesh) {
  return Take(bytes, &mesh->vertices) && Take(bytes, &mesh->triangles);
}

bool LiesIn(int i, int lower, std::size_t count) {
  return i >= lower && i < static_cast<std::int64_t>(count);
}

bool IsWhole(const TriangleMesh& mesh) {
  for (const Eigen::Vector3d& p : mesh.vertices)
    if (!p.allFinite()) return false;
  for (const auto& triangle : mesh.triangles)
    for (const int v : triangle)
      if (!LiesIn(v, 0, mesh.vertices.size())) return false;
  return true;
}

bool IsWhole(const SurfaceMeshFile& file) {
  if (!IsWhole(file.mesh)) return false;
  for (const VisualPart& part : file.parts) {
    const std::size_t vertices = part.mesh.vertices.size();
    const Appearance& appearance = part.appearance;
    const auto fits = [&](std::size_t count) { return count == 0 || count == vertices; };
    if (!IsWhole(part.mesh) || !fits(appearance.texture_coordinates.size()) ||
        !fits(appearance.vertex_colors.size()) || !LiesIn(part.texture, -1, file.textures.size()) ||
        (part.color.has_value() && !part.color->allFinite()))
      return false;
    for (const auto& coordinates : appearance.texture_coordinates)
      for (const float x : coordinates)
        if (!std::isfinite(x)) return false;
  }
  return true;
}

// A part's colour, or nothing, and its texture.
std::vector<double> AppearanceValues(const VisualPart& part) {
  std::vector<double> values{static_cast<double>(part.texture)};
  if (part.color.has_value()) values.insert(values.end(), part.color->begin(), part.color->end());
  return values;
}
bool SetAppearance(const std::vector<double>& values, VisualPart* part) {
  if (values.size() != 1 && values.size() != 5) return false;
  if (!(std::abs(values[0]) < 1e9)) return false;
  part->texture = static_cast<int>(values[0]);
  if (values.size() == 5) part->color = Eigen::Vector4d(values[1], values[2], values[3], values[4]);
  return true;
}

}  // namespace

std::string Pack(const SurfaceReading& reading) {
  std::string bytes;
  Append(reading.refusal, &bytes);
  AppendMesh(reading.file.mesh, &bytes);
  Append(std::vector<std::uint64_t>{reading.file.parts.size(), reading.file.textures.size()},
         &bytes);
  for (const VisualPart& part : reading.file.parts) {
    AppendMesh(part.mesh, &bytes);
    Append(part.appearance.texture_coordinates, &bytes);
    Append(part.appearance.vertex_colors, &bytes);
    Append(AppearanceValues(part), &bytes);
  }
  for (const TextureSource& texture : reading.file.textures) {
    Append(texture.name, &bytes);
    Append(texture.bytes, &bytes);
  }
  return bytes;
}

bool Unpack(std::string_view bytes, SurfaceReading* reading) {
  *reading = {};
  SurfaceMeshFile& file = reading->file;
  std::vector<std::uint64_t> counts;
  if (!Take(&bytes, &reading->refusal) || !TakeMesh(&bytes, &file.mesh) || !Take(&bytes, &counts) ||
      counts.size() != 2)
    return false;
  for (std::uint64_t i = 0; i < counts[0]; ++i) {
    VisualPart& part = file.parts.emplace_back();
    std::vector<double> values;
    if (!TakeMesh(&bytes, &part.mesh) || !Take(&bytes, &part.appearance.texture_coordinates) ||
        !Take(&bytes, &part.appearance.vertex_colors) || !Take(&bytes, &values) ||
        !SetAppearance(values, &part))
      return false;
  }
  for (std::uint64_t i = 0; i < counts[1]; ++i) {
    TextureSource& texture = file.textures.emplace_back();
    if (!Take(&bytes, &texture.name) || !Take(&bytes, &texture.bytes)) return false;
  }
  return bytes.empty() && IsWhole(file);
}

}  // namespace pliant::physics
