#include "physics/geometry/meshing/mesh_smoothing.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "physics/geometry/meshing/primitive_checks.h"
#include "physics/geometry/meshing/tetrahedron_quality.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr std::size_t kVerticesBetweenChecks = 10'000;

// Lists of numbers, stored one after the other.
struct Rows {
  std::vector<int> start;
  std::vector<int> items;
};

// Tetrahedra around each vertex.
Rows CollectStars(const TetrahedralMesh& mesh) {
  Rows stars;
  stars.start.assign(mesh.vertices.size() + 1, 0);
  for (const auto& t : mesh.tetrahedra) {
    for (const int v : t) ++stars.start[v + 1];
  }
  for (std::size_t v = 0; v < mesh.vertices.size(); ++v) stars.start[v + 1] += stars.start[v];
  stars.items.resize(4 * mesh.tetrahedra.size());
  std::vector<int> fill(stars.start.begin(), stars.start.end() - 1);
  for (std::size_t i = 0; i < mesh.tetrahedra.size(); ++i) {
    for (const int v : mesh.tetrahedra[i]) stars.items[fill[v]++] = static_cast<int>(i);
  }
  return stars;
}

// Neighbours of each vertex, ascending; for a boundary vertex, those along the boundary only.
std::vector<std::vector<int>> CollectNeighbors(const TetrahedralMesh& mesh,
                                               const BoundarySurface& boundary) {
  std::vector<std::vector<int>> neighbors(mesh.vertices.size());
  std::vector<char> on_boundary(mesh.vertices.size(), 0);
  for (const int v : boundary.vertices) on_boundary[v] = 1;
  for (const auto& t : boundary.triangles) {
    for (int i = 0; i < 3; ++i)
      neighbors[t[i]].insert(neighbors[t[i]].end(), {t[(i + 1) % 3], t[(i + 2) % 3]});
  }
  for (const auto& t : mesh.tetrahedra) {
    for (int i = 0; i < 4; ++i) {
      if (!on_boundary[t[i]]) {
        neighbors[t[i]].insert(neighbors[t[i]].end(),
                               {t[(i + 1) % 4], t[(i + 2) % 4], t[(i + 3) % 4]});
      }
    }
  }
  for (std::vector<int>& list : neighbors) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return neighbors;
}

}  // namespace

absl::Status SmoothVertices(int passes, const std::function<Vector3d(const Vector3d&)>& project,
                            TetrahedralMesh* mesh, const IsCancelled& is_cancelled) {
  const BoundarySurface boundary = ExtractBoundary(*mesh);
  const std::vector<std::vector<int>> neighbors = CollectNeighbors(*mesh, boundary);
  const Rows stars = CollectStars(*mesh);
  std::vector<char> on_boundary(mesh->vertices.size(), 0);
  for (const int v : boundary.vertices) on_boundary[v] = 1;

  std::vector<Vector3d>& x = mesh->vertices;
  const auto worst_around = [&](std::size_t v) {
    double worst = 1;
    for (int i = stars.start[v]; i < stars.start[v + 1]; ++i) {
      const auto& t = mesh->tetrahedra[stars.items[i]];
      worst = std::min(worst, CalcCubedMeanRatio(x[t[0]], x[t[1]], x[t[2]], x[t[3]]));
    }
    return worst;
  };

  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t v = 0; v < x.size(); ++v) {
      if (v % kVerticesBetweenChecks == 0) {
        if (absl::Status status = CheckNotCancelled(is_cancelled); !status.ok()) return status;
      }
      Vector3d mean = Vector3d::Zero();
      for (const int neighbor : neighbors[v]) mean += x[neighbor];
      mean /= static_cast<double>(neighbors[v].size());

      // move to the mean, or half or a quarter of the way, if this improves the worst tetrahedron
      const Vector3d from = x[v];
      const double before = worst_around(v);
      for (const double part : {1.0, 0.5, 0.25}) {
        x[v] = from + part * (mean - from);
        if (on_boundary[v]) x[v] = project(x[v]);
        if (worst_around(v) > before + 1e-6) break;
        x[v] = from;
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace pliant::physics
