#include "physics/scene/robot_files/parts/coarse_surface.h"

#include <cmath>

#include "gtest/gtest.h"

#include "physics/geometry/shape.h"
#include "physics/geometry/triangle_bvh.h"
#include "tests/physics/geometry/sample_shapes.h"

namespace pliant::physics {
namespace {

TEST(CoarseSurface, KeepsTheShape) {
  const TriangleMesh torus = MakeTorusSurface(1, 0.3, 200, 80);
  ASSERT_GT(torus.triangles.size(), 30000u);
  const auto coarse = MakeCoarseSurface(torus, 3000);
  ASSERT_TRUE(coarse.has_value());
  EXPECT_LT(coarse->triangles.size(), 4000u);
  // closed: every edge has two triangles, and the Euler characteristic is that of a torus
  const TriangleBvh bvh(*coarse);
  for (const TriangleBvh::Edge& edge : bvh.edges()) EXPECT_GE(edge.triangles[1], 0);
  EXPECT_EQ(coarse->vertices.size() + coarse->triangles.size(), bvh.edges().size());
  EXPECT_NEAR(CalcMassProperties(MakeSurfaceMesh(*coarse)).volume,
              CalcMassProperties(MakeSurfaceMesh(torus)).volume, 0.02 * 1.78);
  for (const Eigen::Vector3d& p : torus.vertices)
    EXPECT_LT(std::sqrt(bvh.FindNearest(PositionsOf(*coarse), p, 1).at.squared_distance), 0.013);
}

TEST(CoarseSurface, OfFewTrianglesIsNone) {
  EXPECT_FALSE(MakeCoarseSurface(MakeTorusSurface(1, 0.3, 20, 10), 3000).has_value());
}

}  // namespace
}  // namespace pliant::physics
