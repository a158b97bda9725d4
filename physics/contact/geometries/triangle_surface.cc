#include "physics/contact/geometries/triangle_surface.h"

#include <algorithm>
#include <cmath>

#include "physics/spatial/demand.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

Vector3d UnitOrZero(const Vector3d& v) {
  const double norm = std::sqrt(v.squaredNorm());
  return norm > 0 ? Vector3d(v / norm) : Vector3d::Zero();
}

}  // namespace

TriangleSurface::TriangleSurface(const Body& body, const NodeSet& nodes)
    : nodes_(body.surface.vertices), node_triangles_(body.surface.triangles) {
  // renumber triangles from nodes to surface vertices
  for (const auto& t : body.surface.triangles) {
    std::array<int, 3> local{};
    for (int k = 0; k < 3; ++k) {
      const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), t[k]);
      PLIANT_DEMAND(found != nodes_.end() && *found == t[k]);
      local[k] = static_cast<int>(found - nodes_.begin());
    }
    triangles_.push_back(local);
  }
  for (int node : nodes_) is_prescribed_.push_back(nodes.is_node_prescribed(node));

  // the triangles around each vertex, by counting
  around_starts_.assign(nodes_.size() + 1, 0);
  for (const auto& t : triangles_)
    for (int v : t) ++around_starts_[v + 1];
  for (std::size_t v = 0; v < nodes_.size(); ++v) around_starts_[v + 1] += around_starts_[v];
  around_.resize(3 * triangles_.size());
  std::vector<int> filled(around_starts_.begin(), around_starts_.end() - 1);
  for (int i = 0; i < num_triangles(); ++i)
    for (int k = 0; k < 3; ++k) around_[filled[triangles_[i][k]]++] = {i, k};
  if (!body.mesh.vertices.empty()) {
    rest_positions_ = {body.mesh.vertices[0].data(), 3 * body.mesh.vertices.size()};
    thickness_ = CalcThickness(TriangleMesh{body.mesh.vertices, body.surface.triangles});
  }
  area_normals_.resize(triangles_.size());
  face_normals_.resize(triangles_.size());
  triangle_areas_.resize(triangles_.size());
  longest_edges_.resize(triangles_.size());
}

void TriangleSurface::Update(VertexPositions positions) {
  positions_ = positions;
  bounds_ = AxisAlignedBox{};
  for (int node : nodes_) bounds_.Include(VertexAt(positions_, node));
  triangles_are_current_ = tree_is_current_ = false;
}

void TriangleSurface::UpdateTriangles() {
  if (triangles_are_current_) return;
  triangles_are_current_ = true;
  longest_edge_ = 0;
  for (int i = 0; i < num_triangles(); ++i) {
    const auto& t = triangles_[i];
    const Vector3d a = position(t[0]), b = position(t[1]), c = position(t[2]);
    area_normals_[i] = 0.5 * (b - a).cross(c - a);
    triangle_areas_[i] = std::sqrt(area_normals_[i].squaredNorm());
    longest_edges_[i] =
        std::sqrt(std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()}));
    longest_edge_ = std::max(longest_edge_, longest_edges_[i]);
  }
}

double TriangleSurface::CalcFacingArea(int vertex, const Vector3d& n) const {
  double area = 0;
  for (const auto& [triangle, corner] : around(vertex))
    area += std::max(0.0, -area_normals_[triangle].dot(n)) / 3;
  return area;
}

void TriangleSurface::UpdateTree() {
  UpdateTriangles();
  if (tree_is_current_) return;
  tree_is_current_ = true;
  if (!bvh_) {
    bvh_ = std::make_unique<TriangleBvh>(node_triangles_, positions_);
  } else {
    bvh_->Refit(positions_);
  }
  for (int i = 0; i < num_triangles(); ++i) {
    const double area = triangle_areas_[i];
    face_normals_[i] = area > 0 ? Vector3d(area_normals_[i] / area) : Vector3d::Zero();
  }
}

Vector3d TriangleSurface::CalcVertexNormal(int vertex) const {
  const Vector3d p = position(vertex);
  Vector3d sum = Vector3d::Zero();
  for (const auto& [i, k] : around(vertex)) {
    const auto& t = triangles_[i];
    const double lengths2 =
        (position(t[(k + 1) % 3]) - p).squaredNorm() * (position(t[(k + 2) % 3]) - p).squaredNorm();
    if (lengths2 > 0) sum += area_normals_[i] / lengths2;
  }
  return UnitOrZero(sum);
}

Vector3d TriangleSurface::CalcEdgeNormal(const TriangleBvh::Edge& edge) const {
  Vector3d sum = face_normals_[edge.triangles[0]];
  if (edge.triangles[1] >= 0) sum += face_normals_[edge.triangles[1]];
  return UnitOrZero(sum);
}

}  // namespace pliant::physics
