// MuJoCo's own binary surfaces (MSH): four 32-bit counts, of vertices, normals, texture coordinates
// and triangles, then these as 32-bit numbers, all little-endian.

#include <array>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "physics/scene/mesh_files/mesh_cursor.h"
#include "physics/scene/mesh_files/surface_mesh_formats.h"

namespace pliant::physics {

bool IsMujocoMsh(std::string_view bytes) {
  std::int32_t count[4];
  if (bytes.size() < sizeof(count)) return false;
  std::memcpy(count, bytes.data(), sizeof(count));
  const auto [vertices, normals, coordinates, triangles] = count;
  if (vertices < 3 || normals < 0 || coordinates < 0 || triangles < 1) return false;
  return bytes.size() == sizeof(count) + 12 * std::size_t(vertices) + 12 * std::size_t(normals) +
                             8 * std::size_t(coordinates) + 12 * std::size_t(triangles);
}

absl::StatusOr<SurfaceMeshFile> ReadMujocoMsh(std::string_view bytes, const std::string& name) {
  SurfaceMeshFile file;
  MeshCursor cursor(bytes, name);
  cursor.SetBinary(false);
  std::int64_t count[4];  // IsMujocoMsh has compared them with the size
  for (std::int64_t& each : count) each = cursor.Integer(4, "a count");
  const auto [vertices, normals, coordinates, triangles] = count;
  for (std::int64_t i = 0; i < vertices && cursor.ok(); ++i) {
    Eigen::Vector3d p;
    for (int k = 0; k < 3; ++k) p[k] = cursor.Coordinate(4);
    file.mesh.vertices.push_back(p);
  }
  cursor.Skip(3 * normals + 2 * coordinates, 4, "normals and texture coordinates");
  for (std::int64_t i = 0; i < triangles && cursor.ok(); ++i) {
    std::array<int, 3> triangle;
    for (int& corner : triangle) {
      const std::int64_t given = cursor.Integer(4, "a vertex number");
      if (cursor.ok() && (given < 0 || given >= vertices)) {
        return absl::InvalidArgumentError(absl::StrCat(name, ": triangle ", i, " names vertex ",
                                                       given, "; expected 0 to ", vertices - 1));
      }
      corner = static_cast<int>(given);
    }
    file.mesh.triangles.push_back(triangle);
  }
  if (!cursor.ok()) return cursor.status();
  return file;
}

}  // namespace pliant::physics
