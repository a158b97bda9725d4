#include "physics/geometry/meshing/divided_surface.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gtest/gtest.h"

#include "tests/physics/geometry/meshing/surface/sample_surfaces.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

double LongestEdge(const TriangleMesh& mesh) {
  double longest = 0;
  for (const auto& t : mesh.triangles) {
    for (int e = 0; e < 3; ++e)
      longest = std::max(longest, (mesh.vertices[t[e]] - mesh.vertices[t[(e + 1) % 3]]).norm());
  }
  return longest;
}

Vector3d CalcDoubledArea(const TriangleMesh& mesh, std::size_t i) {
  const auto& t = mesh.triangles[i];
  return (mesh.vertices[t[1]] - mesh.vertices[t[0]])
      .cross(mesh.vertices[t[2]] - mesh.vertices[t[0]]);
}

TEST(DividedSurface, HasShortEdgesTheSameVolumeAndNoGaps) {
  const TriangleMesh bar = MakeBoxSurface({5, 0.3, 0.1});
  const DividedSurface divided = DivideLongEdges(bar, 0.2, 100000);
  EXPECT_LE(LongestEdge(divided.mesh), 0.2);
  double volume = 0;
  for (std::size_t i = 0; i < divided.mesh.triangles.size(); ++i) {
    const Vector3d& corner = divided.mesh.vertices[divided.mesh.triangles[i][0]];
    volume += corner.dot(CalcDoubledArea(divided.mesh, i)) / 6;
  }
  EXPECT_NEAR(volume, 5 * 0.3 * 0.1, 1e-12);
  // each edge once in each direction
  std::map<std::pair<int, int>, int> sides;
  for (const auto& t : divided.mesh.triangles)
    for (int e = 0; e < 3; ++e) ++sides[{t[e], t[(e + 1) % 3]}];
  for (const auto& [ends, count] : sides) {
    EXPECT_EQ(count, 1);
    EXPECT_TRUE(sides.contains({ends.second, ends.first}));
  }
  double area = 0;
  for (std::size_t i = 0; i < divided.mesh.triangles.size(); ++i)
    area += 0.5 * CalcDoubledArea(divided.mesh, i).norm();
  EXPECT_NEAR(area, 2 * (5 * 0.3 + 5 * 0.1 + 0.3 * 0.1), 1e-12);
}

TEST(DividedSurface, AddedVerticesHalveTheirEdges) {
  const TriangleMesh bar = MakeBoxSurface({1, 0.3, 0.1});
  const DividedSurface divided = DivideLongEdges(bar, 0.15, 100000);
  const auto& x = divided.mesh.vertices;
  ASSERT_EQ(divided.ends.size(), x.size() - bar.vertices.size());
  for (std::size_t i = 0; i < divided.ends.size(); ++i) {
    const auto [a, b] = divided.ends[i];
    const std::size_t v = bar.vertices.size() + i;
    ASSERT_LT(static_cast<std::size_t>(std::max(a, b)), v);
    EXPECT_EQ(x[v], 0.5 * (x[a] + x[b]));
  }
}

TEST(DividedSurface, MeetsAlongASeamWhoseSidesHaveTheirOwnVertices) {
  TriangleMesh seamed;
  for (const double side : {-1.0, 1.0}) {
    const int first = static_cast<int>(seamed.vertices.size());
    seamed.vertices.emplace_back(0, 0, 0);
    seamed.vertices.emplace_back(0, 1, 0);
    seamed.vertices.emplace_back(0.7 * side, 0.4, 0);
    seamed.triangles.push_back({first, first + 1, first + 2});
  }
  const DividedSurface divided = DivideLongEdges(seamed, 0.1, 100000);
  std::vector<std::pair<double, int>> on_seam;
  for (const Vector3d& p : divided.mesh.vertices)
    if (p.x() == 0) on_seam.emplace_back(p.y(), 0);
  std::sort(on_seam.begin(), on_seam.end());
  ASSERT_GE(on_seam.size(), 20u);
  for (std::size_t i = 0; i + 1 < on_seam.size(); i += 2) EXPECT_EQ(on_seam[i], on_seam[i + 1]);
}

TEST(DividedSurface, KeepsToTheLimitAndLeavesShortEdgesAlone) {
  const TriangleMesh bar = MakeBoxSurface({5, 0.3, 0.1});
  const DividedSurface few = DivideLongEdges(bar, 0.001, 500);
  EXPECT_LE(few.mesh.triangles.size(), 500u);
  EXPECT_GT(few.mesh.triangles.size(), 100u);
  const DividedSurface same = DivideLongEdges(bar, 6, 500);
  EXPECT_EQ(same.mesh.triangles, bar.triangles);
  EXPECT_TRUE(same.ends.empty());
}

}  // namespace
}  // namespace pliant::physics
