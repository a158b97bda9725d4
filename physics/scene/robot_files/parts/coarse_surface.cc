#include "physics/scene/robot_files/parts/coarse_surface.h"

#include <array>
#include <cmath>
#include <memory>
#include <meshoptimizer.h>
#include <utility>
#include <vector>

#include "physics/geometry/shape.h"
#include "physics/scene/mesh_files/surface_mesh_files.h"

namespace pliant::physics {
namespace {

constexpr float kMaxError = 0.005F;       // of the size
constexpr double kMaxVolumeError = 0.02;  // of the volume

double CalcVolumeOf(const TriangleMesh& mesh) {
  SurfaceMesh surface;
  surface.mesh = std::make_shared<const TriangleMesh>(mesh);
  return CalcMassProperties(surface).volume;
}

}  // namespace

std::optional<TriangleMesh> MakeCoarseSurface(const TriangleMesh& surface, std::size_t triangles) {
  if (surface.triangles.size() <= triangles) return std::nullopt;
  // in single precision around the first vertex
  std::vector<float> positions;
  for (const Eigen::Vector3d& p : surface.vertices)
    for (int i = 0; i < 3; ++i)
      positions.push_back(static_cast<float>(p[i] - surface.vertices[0][i]));
  std::vector<unsigned int> indices;
  for (const auto& t : surface.triangles)
    for (const int v : t) indices.push_back(static_cast<unsigned int>(v));
  std::vector<unsigned int> kept(indices.size());
  kept.resize(meshopt_simplify(kept.data(), indices.data(), indices.size(), positions.data(),
                               positions.size() / 3, 3 * sizeof(float), 3 * triangles, kMaxError, 0,
                               nullptr));
  if (kept.empty() || kept.size() == indices.size()) return std::nullopt;

  TriangleMesh coarse;
  std::vector<int> number(surface.vertices.size(), -1);
  for (std::size_t i = 0; i < kept.size(); i += 3) {
    std::array<int, 3> corners;
    for (int k = 0; k < 3; ++k) {
      int& v = number[kept[i + k]];
      if (v < 0) {
        v = static_cast<int>(coarse.vertices.size());
        coarse.vertices.push_back(surface.vertices[kept[i + k]]);
      }
      corners[k] = v;
    }
    coarse.triangles.push_back(corners);
  }
  // edges may have collapsed onto each other
  absl::StatusOr<SurfaceMeshFile> closed = CloseSurfaceMesh({std::move(coarse), {}}, "");
  if (!closed.ok()) return std::nullopt;
  const double volume = CalcVolumeOf(surface);
  if (!(std::abs(CalcVolumeOf(closed->mesh) - volume) <= kMaxVolumeError * volume))
    return std::nullopt;
  return std::move(closed->mesh);
}

}  // namespace pliant::physics
