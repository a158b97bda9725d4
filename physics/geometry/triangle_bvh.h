#pragma once

#include <array>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/closest_points.h"
#include "physics/geometry/mesh.h"
#include "physics/geometry/shape.h"

namespace pliant::physics {

// The vertices of a surface as a plain array, three numbers each: a mesh's own, or the q of a
// deformable block.
using VertexPositions = std::span<const double>;

inline VertexPositions PositionsOf(const TriangleMesh& mesh) {
  static_assert(sizeof(Eigen::Vector3d) == 3 * sizeof(double));
  return {mesh.vertices.empty() ? nullptr : mesh.vertices[0].data(), 3 * mesh.vertices.size()};
}
inline Eigen::Vector3d VertexAt(VertexPositions positions, int i) {
  return {positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]};
}

// A tree of bounding boxes over the triangles of a closed surface, static or deforming, with the
// normals that distinguish inside from outside: unit normals of faces, edges and vertices
// (angle-weighted pseudonormals, Bærentzen & Aanæs 2005).
//
// The tree depends only on the triangles and the positions it was built from. A deforming surface
// keeps the tree and refits its boxes. Positions are not copied: pass each call those to which the
// boxes were last fitted.
class TriangleBvh {
 public:
  // For a static surface: computes boxes and normals.
  explicit TriangleBvh(const TriangleMesh& mesh);

  // For a deforming surface; `triangles` index vertices of `positions`. UpdateNormals computes the
  // normals.
  TriangleBvh(std::span<const std::array<int, 3>> triangles, VertexPositions positions);

  void Refit(VertexPositions positions);
  void UpdateNormals(VertexPositions positions);

  int num_triangles() const { return static_cast<int>(triangles_.size()); }
  const std::array<int, 3>& triangle(int i) const { return triangles_[i]; }
  const AxisAlignedBox& bounds() const { return nodes_[0].box; }

  // Calls visit(triangle) for triangles whose leaf box meets `box`, in an order that depends on the
  // tree alone.
  template <typename Visit>
  void VisitOverlaps(const AxisAlignedBox& box, Visit&& visit) const;

  // Triangle nearest to p among those nearer than max_distance; triangle −1 when there is none.
  // Ties go to the lower index.
  struct Nearest {
    int triangle = -1;
    TrianglePoint at;
  };
  Nearest FindNearest(VertexPositions positions, const Eigen::Vector3d& p,
                      double max_distance) const;

  // Unit normals, after UpdateNormals. Edge e of a triangle is from its vertex e to the next. The
  // vertices of the surface are numbered by local_vertex.
  const Eigen::Vector3d& face_normal(int triangle) const { return face_normals_[triangle]; }
  const Eigen::Vector3d& edge_normal(int triangle, int edge) const {
    return edge_normals_[edge_of_[triangle][edge]];
  }
  const Eigen::Vector3d& vertex_normal(int triangle, int corner) const {
    return vertex_normals_[local_vertices_[triangle][corner]];
  }
  const Eigen::Vector3d& FeatureNormal(int triangle, TriangleFeature feature) const;

  // Every edge once: its two adjacent triangles (the second −1 on a border) and its vertices, in
  // the direction of the first triangle.
  struct Edge {
    int triangles[2];
    int vertices[2];
  };
  const std::vector<Edge>& edges() const { return edges_; }
  int edge_index(int triangle, int edge) const { return edge_of_[triangle][edge]; }

  // Signed distance of p, negative inside, the unit gradient and the nearest point. Needs normals.
  SignedDistance CalcSignedDistance(VertexPositions positions, const Eigen::Vector3d& p) const;

 private:
  // A leaf holds order_[first, first + count); an inner node (count = 0) has children first and
  // first + 1.
  struct Node {
    AxisAlignedBox box;
    int first = 0;
    int count = 0;
  };

  void Build(VertexPositions positions);
  void FindEdges();
  double SquaredDistanceToBox(int node, const Eigen::Vector3d& p) const {
    const AxisAlignedBox& box = nodes_[node].box;
    return (p - p.cwiseMax(box.lower).cwiseMin(box.upper)).squaredNorm();
  }

  static constexpr int kMaxDepth = 64;

  std::vector<std::array<int, 3>> triangles_;
  std::vector<Node> nodes_;
  std::vector<int> order_;
  std::vector<Edge> edges_;
  std::vector<std::array<int, 3>> edge_of_;  // per triangle
  std::vector<std::array<int, 3>>
      local_vertices_;  // per triangle, 0 … number of surface vertices − 1
  std::vector<Eigen::Vector3d> face_normals_, edge_normals_, vertex_normals_;
};

template <typename Visit>
void TriangleBvh::VisitOverlaps(const AxisAlignedBox& box, Visit&& visit) const {
  if (nodes_.empty()) return;
  int stack[kMaxDepth];
  int top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const Node& node = nodes_[stack[--top]];
    if (!node.box.Overlaps(box)) continue;
    if (node.count > 0) {
      for (int i = node.first; i < node.first + node.count; ++i) visit(order_[i]);
    } else {
      stack[top++] = node.first + 1;
      stack[top++] = node.first;
    }
  }
}

}  // namespace pliant::physics
