#include "physics/geometry/meshing/embedding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/LU>

#include "physics/geometry/shape.h"
#include "physics/geometry/triangle_bvh.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Barycentric weights of p on the four nodes of a tetrahedron.
Eigen::Vector4d CalcWeights(const TetrahedralMesh& mesh, int tetrahedron, const Vector3d& p) {
  const std::array<int, 4>& t = mesh.tetrahedra[tetrahedron];
  const Vector3d& origin = mesh.vertices[t[0]];
  Eigen::Matrix3d edges;
  for (int i = 0; i < 3; ++i) edges.col(i) = mesh.vertices[t[i + 1]] - origin;
  const Vector3d w = edges.inverse() * (p - origin);
  return {1 - w.sum(), w[0], w[1], w[2]};
}

// A grid with cells of about the size of a tetrahedron. Each lists the tetrahedra whose bounding
// boxes overlap it.
class TetrahedronGrid {
 public:
  explicit TetrahedronGrid(const TetrahedralMesh& mesh) : mesh_(mesh) {
    for (const Vector3d& p : mesh.vertices) bounds_.Include(p);
    const Vector3d size = (bounds_.upper - bounds_.lower).cwiseMax(1e-300);
    const double count = static_cast<double>(std::max<std::size_t>(1, mesh.tetrahedra.size()));
    const double cell = std::max(std::cbrt(size.prod() / count), size.maxCoeff() / kMaxCells);
    for (int i = 0; i < 3; ++i)
      counts_[i] = std::clamp(static_cast<int>(size[i] / cell), 1, kMaxCells);
    per_length_ = Vector3d(counts_[0], counts_[1], counts_[2]).cwiseQuotient(size);

    // count the tetrahedra of each cell, then list them in ascending order
    first_.assign(static_cast<std::size_t>(counts_[0]) * counts_[1] * counts_[2] + 1, 0);
    ForEachCell([&](std::size_t cell_index, int) { ++first_[cell_index + 1]; });
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    members_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    ForEachCell([&](std::size_t cell_index, int t) { members_[next[cell_index]++] = t; });
  }

  // The first tetrahedron that contains p; −1 if none does.
  int Find(const Vector3d& p, Eigen::Vector4d* weights) const {
    if ((p.array() < bounds_.lower.array()).any() || (p.array() > bounds_.upper.array()).any())
      return -1;
    const std::size_t cell = IndexOf(CellAt(p));
    for (std::size_t i = first_[cell]; i < first_[cell + 1]; ++i) {
      *weights = CalcWeights(mesh_, members_[i], p);
      if (weights->minCoeff() >= -kTolerance) return members_[i];
    }
    return -1;
  }

 private:
  static constexpr int kMaxCells = 256;          // along an axis
  static constexpr double kTolerance = 0x1p-30;  // of weights, for points on faces

  std::array<int, 3> CellAt(const Vector3d& p) const {
    std::array<int, 3> cell;
    for (int i = 0; i < 3; ++i) {
      const double at = (p[i] - bounds_.lower[i]) * per_length_[i];
      cell[i] = std::clamp(static_cast<int>(at), 0, counts_[i] - 1);
    }
    return cell;
  }
  std::size_t IndexOf(const std::array<int, 3>& cell) const {
    return (static_cast<std::size_t>(cell[0]) * counts_[1] + cell[1]) * counts_[2] + cell[2];
  }

  template <typename Visit>
  void ForEachCell(Visit&& visit) const {
    for (int t = 0; t < static_cast<int>(mesh_.tetrahedra.size()); ++t) {
      AxisAlignedBox box;
      for (const int v : mesh_.tetrahedra[t]) box.Include(mesh_.vertices[v]);
      const std::array<int, 3> low = CellAt(box.lower), high = CellAt(box.upper);
      std::array<int, 3> at;
      for (at[0] = low[0]; at[0] <= high[0]; ++at[0])
        for (at[1] = low[1]; at[1] <= high[1]; ++at[1])
          for (at[2] = low[2]; at[2] <= high[2]; ++at[2]) visit(IndexOf(at), t);
    }
  }

  const TetrahedralMesh& mesh_;
  AxisAlignedBox bounds_;
  std::array<int, 3> counts_;
  Vector3d per_length_;             // cells per metre
  std::vector<std::size_t> first_;  // start of each cell in members_
  std::vector<int> members_;
};

// The tetrahedron behind each triangle of the boundary.
std::vector<int> FindOwners(const TetrahedralMesh& mesh, const BoundarySurface& boundary) {
  // triangles are ordered by their tetrahedra
  std::vector<int> owners;
  int t = 0;
  for (const std::array<int, 3>& triangle : boundary.triangles) {
    const auto has = [&](int v) { return std::ranges::count(mesh.tetrahedra[t], v) > 0; };
    while (!std::ranges::all_of(triangle, has)) ++t;
    owners.push_back(t);
  }
  return owners;
}

}  // namespace

Embedding EmbedPoints(const std::vector<Vector3d>& points, const TetrahedralMesh& mesh,
                      const BoundarySurface& boundary) {
  Embedding result;
  const TetrahedronGrid grid(mesh);
  VertexPositions positions(mesh.vertices[0].data(), 3 * mesh.vertices.size());
  const TriangleBvh surface(boundary.triangles, positions);
  const std::vector<int> owners = FindOwners(mesh, boundary);
  for (const Vector3d& p : points) {
    Eigen::Vector4d weights;
    int t = grid.Find(p, &weights);
    if (t < 0) {
      const TriangleBvh::Nearest nearest =
          surface.FindNearest(positions, p, std::numeric_limits<double>::infinity());
      t = owners[nearest.triangle];
      weights = CalcWeights(mesh, t, p);
      result.max_distance = std::max(result.max_distance, std::sqrt(nearest.at.squared_distance));
    }
    result.nodes.push_back(mesh.tetrahedra[t]);
    result.weights.push_back(weights);
  }
  return result;
}

}  // namespace pliant::physics
