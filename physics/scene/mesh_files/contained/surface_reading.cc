#include "physics/scene/mesh_files/contained/surface_reading.h"

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

bool IsWhole(const SurfaceMeshFile& file) {
  const auto lies_in = [](int i, int lower, std::size_t count) {
    return i >= lower && i < static_cast<std::int64_t>(count);
  };
  for (const Eigen::Vector3d& p : file.mesh.vertices)
    if (!p.allFinite()) return false;
  for (const auto& triangle : file.mesh.triangles)
    for (const int v : triangle)
      if (!lies_in(v, 0, file.mesh.vertices.size())) return false;
  for (const int color : file.color_of)
    if (!lies_in(color, -1, file.colors.size())) return false;
  return file.color_of.empty() || file.color_of.size() == file.mesh.triangles.size();
}

}  // namespace

std::string Pack(const SurfaceReading& reading) {
  std::string bytes;
  Append(reading.refusal, &bytes);
  Append(reading.file.mesh.vertices, &bytes);
  Append(reading.file.mesh.triangles, &bytes);
  Append(reading.file.colors, &bytes);
  Append(reading.file.color_of, &bytes);
  return bytes;
}

bool Unpack(std::string_view bytes, SurfaceReading* reading) {
  SurfaceMeshFile& file = reading->file;
  return Take(&bytes, &reading->refusal) && Take(&bytes, &file.mesh.vertices) &&
         Take(&bytes, &file.mesh.triangles) && Take(&bytes, &file.colors) &&
         Take(&bytes, &file.color_of) && bytes.empty() && IsWhole(file);
}

}  // namespace pliant::physics
