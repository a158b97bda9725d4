#include "server/stream/surface_tiers.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "tests/server/host/test_scene.h"

namespace pliant::server {
namespace {

physics::Body MakeBall(double edge) {
  return LoadTestModel(
             "bodies: [{name: ball, deformable: {mesh: {sphere: {radius: 0.1}, "
             "edge_length: " +
             std::to_string(edge) +
             "}, material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e5, "
             "poissons_ratio: 0.4, density: 1000}}}]")
      ->bodies[0];
}

TEST(SurfaceTiers, DecimatedSurfaceKeepsAboutAQuarterOfTheTriangles) {
  const physics::Body ball = MakeBall(0.02);
  const DecimatedSurface decimated = DecimateSurface(ball);
  const std::size_t triangles = decimated.triangles.size() / 3;
  EXPECT_LE(triangles, ball.surface.triangles.size() / 4);
  EXPECT_GE(triangles, ball.surface.triangles.size() / 5);
  EXPECT_TRUE(std::ranges::is_sorted(decimated.vertices));
  EXPECT_LT(decimated.vertices.back(), ball.surface.vertices.size());
}

TEST(SurfaceTiers, DecimatedSurfaceIsClosedAndUsesAllItsVertices) {
  const DecimatedSurface decimated = DecimateSurface(MakeBall(0.02));
  // each edge has one triangle on either side
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> edges;
  std::vector<bool> used(decimated.vertices.size());
  for (std::size_t i = 0; i < decimated.triangles.size(); i += 3) {
    for (int k = 0; k < 3; ++k) {
      const std::uint32_t a = decimated.triangles[i + k], b = decimated.triangles[i + (k + 1) % 3];
      ASSERT_LT(a, decimated.vertices.size());
      used[a] = true;
      ++edges[{a, b}];
    }
  }
  for (const auto& [edge, count] : edges) {
    EXPECT_EQ(count, 1);
    EXPECT_EQ(edges.count({edge.second, edge.first}), 1u);
  }
  EXPECT_TRUE(std::ranges::all_of(used, std::identity()));
}

TEST(SurfaceTiers, DecimationIsTheSameEveryTime) {
  const DecimatedSurface one = DecimateSurface(MakeBall(0.02));
  const DecimatedSurface other = DecimateSurface(MakeBall(0.02));
  EXPECT_EQ(one.vertices, other.vertices);
  EXPECT_EQ(one.triangles, other.triangles);
}

TEST(SurfaceTiers, SmallSurfacesAreKeptWhole) {
  const DecimatedSurface decimated = DecimateSurface(MakeBall(0.1));
  EXPECT_TRUE(decimated.vertices.empty());
  EXPECT_TRUE(decimated.triangles.empty());
}

}  // namespace
}  // namespace pliant::server
