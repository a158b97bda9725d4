#include "physics/fem/volume/enclosed_volume.h"

#include <algorithm>
#include <map>
#include <utility>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "physics/spatial/demand.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

Vector3d NodeAt(std::span<const double> q, int node) {
  const double* x = &q[3 * static_cast<std::size_t>(node)];
  return {x[0], x[1], x[2]};
}

}  // namespace

EnclosedVolume::EnclosedVolume(std::vector<std::array<int, 3>> triangles,
                               const solvers::BlockPattern& pattern)
    : triangles_(std::move(triangles)) {
  // third corners of the triangles along each edge i > j, by direction
  std::map<std::pair<int, int>, std::array<std::vector<int>, 2>> around;
  for (const std::array<int, 3>& t : triangles_) {
    for (int r = 0; r < 3; ++r) {
      const int from = t[r], to = t[(r + 1) % 3], third = t[(r + 2) % 3];
      const bool is_back = from < to;
      around[{std::max(from, to), std::min(from, to)}][is_back].push_back(third);
    }
  }
  for (const auto& [edge, thirds] : around) {
    PLIANT_DEMAND(thirds[0].size() == thirds[1].size());
    for (std::size_t n = 0; n < thirds[0].size(); ++n)
      edges_.push_back({9 * pattern.Find(edge.first, edge.second), thirds[0][n], thirds[1][n]});
  }
}

double EnclosedVolume::CalcVolume(std::span<const double> q) const {
  const Vector3d origin = NodeAt(q, triangles_.front()[0]);
  double sum = 0;
  for (const std::array<int, 3>& t : triangles_) {
    const Vector3d a = NodeAt(q, t[0]), b = NodeAt(q, t[1]), c = NodeAt(q, t[2]);
    sum += (a - origin).dot((b - a).cross(c - a));
  }
  return sum / 6;
}

void EnclosedVolume::CalcGradient(std::span<const double> q, std::span<double> gradient) const {
  std::ranges::fill(gradient, 0.0);
  for (const std::array<int, 3>& t : triangles_) {
    const Vector3d a = NodeAt(q, t[0]);
    const Vector3d share = (NodeAt(q, t[1]) - a).cross(NodeAt(q, t[2]) - a) / 6;
    for (const int node : t)
      for (int r = 0; r < 3; ++r) gradient[3 * static_cast<std::size_t>(node) + r] += share[r];
  }
}

void EnclosedVolume::AddCurvature(std::span<const double> q, double factor,
                                  solvers::BlockMatrix* A) const {
  for (const Edge& edge : edges_) {
    const Vector3d d = factor / 6 * (NodeAt(q, edge.l) - NodeAt(q, edge.k));
    double* block = &A->values[edge.slot];  // column-major [d]ₓ
    block[1] += d[2];
    block[2] -= d[1];
    block[3] -= d[2];
    block[5] += d[0];
    block[6] += d[1];
    block[7] -= d[0];
  }
}

}  // namespace pliant::physics
