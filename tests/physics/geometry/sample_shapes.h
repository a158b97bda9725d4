#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "physics/geometry/shape.h"
#include "physics/geometry/triangle_bvh.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {

inline TriangleMesh MakeBoxHull(const Eigen::Vector3d& half) {
  TriangleMesh mesh;
  for (int v = 0; v < 8; ++v)
    mesh.vertices.push_back(
        half.cwiseProduct(Eigen::Vector3d(v & 1 ? 1 : -1, v & 2 ? 1 : -1, v & 4 ? 1 : -1)));
  mesh.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                    {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  return mesh;
}

// A torus, which is not convex.
inline TriangleMesh MakeTorusSurface(double ring, double tube, int n, int m) {
  TriangleMesh mesh;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      const double u = 2 * kPi * i / n, v = 2 * kPi * j / m;
      mesh.vertices.push_back({(ring + tube * std::cos(v)) * std::cos(u),
                               (ring + tube * std::cos(v)) * std::sin(u), tube * std::sin(v)});
    }
  const auto at = [&](int i, int j) { return (i % n) * m + j % m; };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      mesh.triangles.push_back({at(i, j), at(i + 1, j), at(i + 1, j + 1)});
      mesh.triangles.push_back({at(i, j), at(i + 1, j + 1), at(i, j + 1)});
    }
  return mesh;
}

// An octahedron with unequal axes: convex, with oblique faces.
inline TriangleMesh MakeOctahedron(const Eigen::Vector3d& radii) {
  TriangleMesh mesh;
  for (int i = 0; i < 3; ++i) {
    mesh.vertices.push_back(radii[i] * Eigen::Vector3d::Unit(i));
    mesh.vertices.push_back(-radii[i] * Eigen::Vector3d::Unit(i));
  }
  for (int s = 0; s < 8; ++s) {
    const int x = s & 1, y = 2 + (s >> 1 & 1), z = 4 + (s >> 2 & 1);
    const bool is_even = (x + y + z) % 2 == 0;
    mesh.triangles.push_back(is_even ? std::array{x, y, z} : std::array{x, z, y});
  }
  return mesh;
}

inline SurfaceMesh MakeSurfaceMesh(const TriangleMesh& mesh) {
  return {std::make_shared<TriangleMesh>(mesh), std::make_shared<TriangleBvh>(mesh)};
}

struct NamedShape {
  std::string name;
  Geometry geometry;
};

inline std::vector<NamedShape> MakeSampleShapes() {
  return {{"sphere", Sphere{0.7}},
          {"box", Box{{0.3, 0.5, 0.7}}},
          {"capsule", Capsule{0.3, 0.8}},
          {"cylinder", Cylinder{0.4, 0.9}},
          {"ellipsoid", Ellipsoid{{0.3, 0.5, 0.9}}},
          {"half_space", HalfSpace{}},
          {"convex", ConvexMesh{std::make_shared<TriangleMesh>(MakeOctahedron({0.5, 0.6, 0.8}))}},
          {"torus", MakeSurfaceMesh(MakeTorusSurface(0.7, 0.25, 24, 12))}};
}

inline Eigen::Vector3d RandomPoint(std::mt19937* random, double half) {
  std::uniform_real_distribution<double> uniform(-half, half);
  const double x = uniform(*random), y = uniform(*random), z = uniform(*random);
  return {x, y, z};
}

}  // namespace pliant::physics
