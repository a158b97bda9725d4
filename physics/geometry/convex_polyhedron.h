#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/geometry/mesh.h"

namespace pliant::physics {

// A convex polyhedron by its flat faces, for clipping and separating-axis tests.
struct ConvexPolyhedron {
  std::vector<Eigen::Vector3d> vertices;
  std::vector<Eigen::Vector3d> normals;  // unit, outward, one a face
  std::vector<int> face_starts{0};       // one entry more than faces
  std::vector<int> face_vertices;        // counter-clockwise from outside

  // FindSupport uses these for hulls with many vertices; they are empty for others. Each vertex has
  // the list of those that share an edge with it. Each cell on the sides of a cube around the
  // origin has the vertex that is furthest along the direction of the cell's centre.
  std::vector<int> neighbor_starts, neighbors;
  std::vector<int> seeds;

  // The vertex furthest along d; of several, the first, or any of them if there are `neighbors`.
  int FindSupport(const Eigen::Vector3d& d) const;

  int num_faces() const { return static_cast<int>(normals.size()); }
  std::span<const int> face(int i) const {
    return std::span(face_vertices).subspan(face_starts[i], face_starts[i + 1] - face_starts[i]);
  }
};

ConvexPolyhedron MakeBoxPolyhedron(const Eigen::Vector3d& half_size);

// Equal vertices are joined and coplanar triangles merged into one face (normals within 1e-6 rad of
// its first triangle's).
ConvexPolyhedron MakeHullPolyhedron(const TriangleMesh& hull);

}  // namespace pliant::physics
