#include "physics/geometry/triangle_bvh.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "physics/spatial/demand.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr int kLeafSize = 4;

Vector3d UnitOrZero(const Vector3d& v) {
  const double norm = std::sqrt(v.squaredNorm());
  return norm > 0 ? Vector3d(v / norm) : Vector3d::Zero();
}

}  // namespace

TriangleBvh::TriangleBvh(const TriangleMesh& mesh)
    : TriangleBvh(mesh.triangles, PositionsOf(mesh)) {
  UpdateNormals(PositionsOf(mesh));
}

TriangleBvh::TriangleBvh(std::span<const std::array<int, 3>> triangles, VertexPositions positions)
    : triangles_(triangles.begin(), triangles.end()) {
  PLIANT_DEMAND(!triangles_.empty());
  Build(positions);
  FindEdges();
}

void TriangleBvh::Build(VertexPositions positions) {
  const int n = num_triangles();
  std::vector<Vector3d> centroids(n);
  for (int i = 0; i < n; ++i) {
    const auto& t = triangles_[i];
    centroids[i] =
        VertexAt(positions, t[0]) + VertexAt(positions, t[1]) + VertexAt(positions, t[2]);
  }
  order_.resize(n);
  for (int i = 0; i < n; ++i) order_[i] = i;

  // split at the median of the longest side; children always come after their parent
  nodes_.clear();
  nodes_.push_back({{}, 0, n});
  for (std::size_t current = 0; current < nodes_.size(); ++current) {
    const int first = nodes_[current].first, count = nodes_[current].count;
    if (count <= kLeafSize) continue;
    AxisAlignedBox box;
    for (int i = first; i < first + count; ++i) box.Include(centroids[order_[i]]);
    int axis = 0;
    (box.upper - box.lower).maxCoeff(&axis);
    const auto comes_before = [&](int a, int b) {
      return std::pair(centroids[a][axis], a) < std::pair(centroids[b][axis], b);
    };
    const int left = count / 2;
    const auto begin = order_.begin() + first, end = begin + count;
    // the order within a leaf is that of its parent's axis
    if (left > kLeafSize) {
      std::nth_element(begin, begin + left, end, comes_before);
    } else {
      std::sort(begin, end, comes_before);
    }
    nodes_[current].first = static_cast<int>(nodes_.size());
    nodes_[current].count = 0;
    nodes_.push_back({{}, first, left});
    nodes_.push_back({{}, first + left, count - left});
  }
  Refit(positions);
}

void TriangleBvh::Refit(VertexPositions positions) {
  for (int i = static_cast<int>(nodes_.size()) - 1; i >= 0; --i) {
    Node& node = nodes_[i];
    node.box = AxisAlignedBox{};
    if (node.count == 0) {
      node.box.Include(nodes_[node.first].box);
      node.box.Include(nodes_[node.first + 1].box);
      continue;
    }
    for (int k = node.first; k < node.first + node.count; ++k)
      for (int vertex : triangles_[order_[k]]) node.box.Include(VertexAt(positions, vertex));
  }
}

void TriangleBvh::FindEdges() {
  const int n = num_triangles();
  edge_of_.resize(n);
  local_vertices_.resize(n);
  edges_.clear();

  // vertices and edges are numbered in order of first appearance in the triangles
  int last = 0;
  for (const auto& t : triangles_) last = std::max({last, t[0], t[1], t[2]});
  std::vector<int> local(last + 1, -1);
  int num_vertices = 0;
  std::vector<std::pair<std::pair<int, int>, int>> sides(3 * static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    for (int e = 0; e < 3; ++e) {
      const int from = triangles_[i][e];
      if (local[from] < 0) local[from] = num_vertices++;
      local_vertices_[i][e] = local[from];
      sides[3 * static_cast<std::size_t>(i) + e] = {std::minmax(from, triangles_[i][(e + 1) % 3]),
                                                    3 * i + e};
    }
  }
  std::sort(sides.begin(), sides.end());
  std::vector<int> first_of(sides.size());  // first side on the same edge, per side
  for (std::size_t k = 0, first = 0; k < sides.size(); ++k) {
    if (sides[k].first != sides[first].first) first = k;
    first_of[sides[k].second] = sides[first].second;
  }
  for (int i = 0; i < n; ++i) {
    for (int e = 0; e < 3; ++e) {
      const int first = first_of[3 * i + e];
      if (first == 3 * i + e) {
        edge_of_[i][e] = static_cast<int>(edges_.size());
        edges_.push_back({{i, -1}, {triangles_[i][e], triangles_[i][(e + 1) % 3]}});
        continue;
      }
      edge_of_[i][e] = edge_of_[first / 3][first % 3];
      Edge& edge = edges_[edge_of_[i][e]];
      if (edge.triangles[1] < 0) edge.triangles[1] = i;
    }
  }
  vertex_normals_.resize(num_vertices);
}

void TriangleBvh::UpdateNormals(VertexPositions positions) {
  const int n = num_triangles();
  face_normals_.resize(n);
  for (Vector3d& normal : vertex_normals_) normal.setZero();
  for (int i = 0; i < n; ++i) {
    Vector3d x[3];
    for (int k = 0; k < 3; ++k) x[k] = VertexAt(positions, triangles_[i][k]);
    face_normals_[i] = UnitOrZero((x[1] - x[0]).cross(x[2] - x[0]));
    for (int k = 0; k < 3; ++k) {
      const Vector3d to_next = UnitOrZero(x[(k + 1) % 3] - x[k]),
                     to_last = UnitOrZero(x[(k + 2) % 3] - x[k]);
      vertex_normals_[local_vertices_[i][k]] += CalcAcos(to_next.dot(to_last)) * face_normals_[i];
    }
  }
  for (Vector3d& normal : vertex_normals_) normal = UnitOrZero(normal);
  edge_normals_.resize(edges_.size());
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const Edge& edge = edges_[e];
    Vector3d sum = face_normals_[edge.triangles[0]];
    if (edge.triangles[1] >= 0) sum += face_normals_[edge.triangles[1]];
    edge_normals_[e] = UnitOrZero(sum);
  }
}

const Vector3d& TriangleBvh::FeatureNormal(int triangle, TriangleFeature feature) const {
  const int code = static_cast<int>(feature);
  if (code == 0) return face_normal(triangle);
  return code <= 3 ? vertex_normal(triangle, code - 1) : edge_normal(triangle, code - 4);
}

TriangleBvh::Nearest TriangleBvh::FindNearest(VertexPositions positions, const Vector3d& p,
                                              double max_distance) const {
  Nearest best;
  best.at.squared_distance = max_distance * max_distance;
  struct Entry {
    int node;
    double bound;
  };
  Entry stack[kMaxDepth];
  int top = 0;
  stack[top++] = {0, SquaredDistanceToBox(0, p)};
  while (top > 0) {
    const Entry entry = stack[--top];
    if (entry.bound > best.at.squared_distance) continue;
    const Node& node = nodes_[entry.node];
    if (node.count == 0) {
      // visit the nearer child first
      Entry near{node.first, SquaredDistanceToBox(node.first, p)};
      Entry far{node.first + 1, SquaredDistanceToBox(node.first + 1, p)};
      if (far.bound < near.bound) std::swap(near, far);
      stack[top++] = far;
      stack[top++] = near;
      continue;
    }
    for (int k = node.first; k < node.first + node.count; ++k) {
      const int i = order_[k];
      const auto& t = triangles_[i];
      const TrianglePoint at = FindClosestPointOnTriangle(
          p, VertexAt(positions, t[0]), VertexAt(positions, t[1]), VertexAt(positions, t[2]));
      const bool is_nearer = at.squared_distance < best.at.squared_distance ||
                             (at.squared_distance == best.at.squared_distance && i < best.triangle);
      if (is_nearer) best = {i, at};
    }
  }
  return best;
}

SignedDistance TriangleBvh::CalcSignedDistance(VertexPositions positions, const Vector3d& p) const {
  const Nearest nearest = FindNearest(positions, p, std::numeric_limits<double>::infinity());
  const Vector3d& normal = FeatureNormal(nearest.triangle, nearest.at.feature);
  const Vector3d offset = p - nearest.at.point;
  const double distance = std::sqrt(nearest.at.squared_distance);
  const double sign = offset.dot(normal) < 0 ? -1 : 1;
  // over a face the normal is exact; beside an edge or a vertex the gradient is along the offset,
  // unless that is mere round-off
  const AxisAlignedBox& box = bounds();
  const double round_off = 1e-13 * ((box.upper - box.lower).sum() + p.cwiseAbs().maxCoeff());
  Vector3d gradient = normal;
  if (nearest.at.feature != TriangleFeature::kFace && distance > round_off)
    gradient = offset * (sign / distance);
  return {sign * distance, gradient, nearest.at.point};
}

}  // namespace pliant::physics
