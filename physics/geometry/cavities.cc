#include "physics/geometry/cavities.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <Eigen/Geometry>

namespace pliant::physics {
namespace {

using Triangle = std::array<int, 3>;

// Calls visit(triangle, from, to) for each directed edge.
template <typename Visit>
void ForEachEdge(std::span<const Triangle> triangles, const Visit& visit) {
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (int r = 0; r < 3; ++r)
      visit(static_cast<int>(t), triangles[t][r], triangles[t][(r + 1) % 3]);
}

// Number of the piece of each triangle, ascending by first appearance.
std::vector<int> FindPieces(std::span<const Triangle> triangles, int* count) {
  std::map<std::pair<int, int>, std::vector<int>> around;
  ForEachEdge(triangles, [&](int t, int from, int to) {
    around[{std::min(from, to), std::max(from, to)}].push_back(t);
  });
  std::vector<int> parent(triangles.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](int t) {
    while (parent[t] != t) t = parent[t] = parent[parent[t]];
    return t;
  };
  for (const auto& [edge, of_edge] : around) {
    if (of_edge.size() != 2) continue;
    const int a = find(of_edge[0]), b = find(of_edge[1]);
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::vector<int> pieces(triangles.size());
  *count = 0;
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    const int root = find(static_cast<int>(t));
    pieces[t] = root == static_cast<int>(t) ? (*count)++ : pieces[root];
  }
  return pieces;
}

}  // namespace

double CalcEnclosedVolume(std::span<const Triangle> triangles,
                          std::span<const Eigen::Vector3d> vertices) {
  double sum = 0;
  for (const Triangle& t : triangles) {
    const Eigen::Vector3d& a = vertices[t[0]];
    sum += (a - vertices[triangles.front()[0]]).dot((vertices[t[1]] - a).cross(vertices[t[2]] - a));
  }
  return sum / 6;
}

bool IsClosed(std::span<const Triangle> triangles) {
  std::map<std::pair<int, int>, int> surplus;
  ForEachEdge(triangles, [&](int, int from, int to) {
    surplus[{std::min(from, to), std::max(from, to)}] += from < to ? 1 : -1;
  });
  return std::ranges::all_of(surplus, [](const auto& edge) { return edge.second == 0; });
}

Cavities FindCavities(const BoundarySurface& boundary, std::span<const Eigen::Vector3d> vertices) {
  Cavities cavities;
  const std::vector<int> pieces = FindPieces(boundary.triangles, &cavities.num_pieces);
  std::vector<std::vector<Triangle>> triangles(cavities.num_pieces);
  for (std::size_t t = 0; t < pieces.size(); ++t)
    triangles[pieces[t]].push_back(boundary.triangles[t]);
  for (const std::vector<Triangle>& piece : triangles) {
    if (!IsClosed(piece)) {
      cavities.has_open = true;
    } else if (CalcEnclosedVolume(piece, vertices) < 0) {
      ++cavities.count;
      for (const Triangle& t : piece) cavities.triangles.push_back({t[0], t[2], t[1]});
    }
  }
  return cavities;
}

}  // namespace pliant::physics
