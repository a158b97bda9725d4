#include "physics/geometry/meshing/divided_surface.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Halves the edges of a mesh that are longer than `longest` once. False if there are none, or if
// the triangles would be too many.
bool Halve(double longest, std::size_t max_triangles, DividedSurface* surface) {
  TriangleMesh& mesh = surface->mesh;
  const auto is_long = [&](int a, int b) {
    return (mesh.vertices[a] - mesh.vertices[b]).squaredNorm() > longest * longest;
  };
  std::size_t count = mesh.triangles.size();
  for (const auto& t : mesh.triangles)
    for (int e = 0; e < 3; ++e) count += is_long(t[e], t[(e + 1) % 3]);
  if (count == mesh.triangles.size() || count > max_triangles) return false;

  std::unordered_map<std::uint64_t, int> middles;  // by the ends of the edge
  const auto halve = [&](int a, int b) {
    if (!is_long(a, b)) return -1;
    const auto [low, high] = std::minmax(a, b);
    const auto [known, is_new] =
        middles.emplace(static_cast<std::uint64_t>(low) << 32 | static_cast<std::uint64_t>(high),
                        static_cast<int>(mesh.vertices.size()));
    if (is_new) {
      const Vector3d middle = 0.5 * (mesh.vertices[low] + mesh.vertices[high]);
      mesh.vertices.push_back(middle);
      surface->ends.push_back({low, high});
    }
    return known->second;
  };
  std::vector<std::array<int, 3>> triangles;
  triangles.reserve(count);
  for (const auto& t : mesh.triangles) {
    int at[3], halved = 0;  // middle of the edge after each corner
    for (int e = 0; e < 3; ++e) halved += (at[e] = halve(t[e], t[(e + 1) % 3])) >= 0;
    if (halved == 0) {
      triangles.push_back(t);
    } else if (halved == 3) {
      for (int e = 0; e < 3; ++e) triangles.push_back({t[e], at[e], at[(e + 2) % 3]});
      triangles.push_back({at[0], at[1], at[2]});
    } else {
      // turned so that edge ab is halved, and of two halved edges, ca is not
      int e = 0;
      while (at[e] < 0 || (halved == 2 && at[(e + 2) % 3] >= 0)) ++e;
      const int a = t[e], b = t[(e + 1) % 3], c = t[(e + 2) % 3], ab = at[e], bc = at[(e + 1) % 3];
      if (halved == 1) {
        triangles.push_back({a, ab, c});
        triangles.push_back({ab, b, c});
        continue;
      }
      triangles.push_back({ab, b, bc});
      // the shorter diagonal of what remains
      const auto& x = mesh.vertices;
      if ((x[bc] - x[a]).squaredNorm() < (x[c] - x[ab]).squaredNorm()) {
        triangles.push_back({a, ab, bc});
        triangles.push_back({a, bc, c});
      } else {
        triangles.push_back({a, ab, c});
        triangles.push_back({ab, bc, c});
      }
    }
  }
  mesh.triangles = std::move(triangles);
  return true;
}

}  // namespace

DividedSurface DivideLongEdges(TriangleMesh mesh, double longest, std::size_t max_triangles) {
  DividedSurface surface{std::move(mesh), {}};
  while (Halve(longest, max_triangles, &surface)) {
  }
  return surface;
}

}  // namespace pliant::physics
