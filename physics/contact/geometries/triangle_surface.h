#pragma once

#include <array>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/block.h"
#include "physics/dynamics/model.h"
#include "physics/geometry/triangle_bvh.h"

namespace pliant::physics {

// The deforming surface of one body: its constant topology and its present position.
class TriangleSurface {
 public:
  TriangleSurface(const Body& body, const NodeSet& nodes);

  // Sets the node positions. Bounds are updated at once, the rest on request; `positions` must
  // outlive their use.
  void Update(VertexPositions positions);
  // Points to the same positions at another address.
  void Rebind(VertexPositions positions) { positions_ = positions; }
  // Updates areas and edge lengths, which all contacts need.
  void UpdateTriangles();
  // Updates the tree and the normals too, for contact with another surface. The tree itself stores
  // no normals.
  void UpdateTree();

  VertexPositions positions() const { return positions_; }
  const AxisAlignedBox& bounds() const { return bounds_; }

  // Surface vertices, numbered 0 … num_vertices − 1.
  int num_vertices() const { return static_cast<int>(nodes_.size()); }
  int node(int vertex) const { return nodes_[vertex]; }
  Eigen::Vector3d position(int vertex) const { return VertexAt(positions_, nodes_[vertex]); }
  // Area of a vertex, a third of that of its triangles [m²], projected along `n`; only triangles
  // that face a surface with normal `n` count.
  double CalcFacingArea(int vertex, const Eigen::Vector3d& n) const;
  bool is_prescribed(int vertex) const { return is_prescribed_[vertex]; }
  // (triangle, corner) pairs of the triangles around a vertex
  std::span<const std::array<int, 2>> around(int vertex) const {
    return std::span(around_).subspan(around_starts_[vertex],
                                      around_starts_[vertex + 1] - around_starts_[vertex]);
  }

  // Triangles, in surface vertices.
  int num_triangles() const { return static_cast<int>(triangles_.size()); }
  const std::array<int, 3>& triangle(int i) const { return triangles_[i]; }
  double triangle_area(int i) const { return triangle_areas_[i]; }
  double longest_edge(int i) const { return longest_edges_[i]; }  // [m]
  double longest_edge() const { return longest_edge_; }
  // Outward unit normals: of a triangle; of a vertex, as on a sphere through its neighbours (Max
  // 1999), independent of the triangulation around it; of an edge of the tree.
  const Eigen::Vector3d& face_normal(int i) const { return face_normals_[i]; }
  Eigen::Vector3d CalcVertexNormal(int vertex) const;
  Eigen::Vector3d CalcEdgeNormal(const TriangleBvh::Edge& edge) const;

  // Rest positions of all nodes, in the body's frame; empty when unknown.
  VertexPositions rest_positions() const { return rest_positions_; }
  // Thickness of the body at rest [m], see CalcThickness; infinite when unknown.
  double thickness() const { return thickness_; }

  // Tree in nodes of the block, with the same triangle numbers.
  const TriangleBvh& bvh() const { return *bvh_; }

 private:
  VertexPositions positions_, rest_positions_;
  AxisAlignedBox bounds_;
  std::vector<int> nodes_;
  std::vector<char> is_prescribed_;
  std::vector<std::array<int, 3>> triangles_;
  std::vector<std::array<int, 2>> around_;
  std::vector<int> around_starts_;
  std::vector<Eigen::Vector3d> area_normals_, face_normals_;  // of triangles; area times normal
  std::vector<double> triangle_areas_, longest_edges_;
  double longest_edge_ = 0;
  double thickness_ = std::numeric_limits<double>::infinity();
  std::span<const std::array<int, 3>> node_triangles_;
  std::unique_ptr<TriangleBvh> bvh_;
  bool triangles_are_current_ = false, tree_is_current_ = false;
};

}  // namespace pliant::physics
