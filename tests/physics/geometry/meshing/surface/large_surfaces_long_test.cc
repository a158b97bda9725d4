#include "gtest/gtest.h"

#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/geometry/meshing/surface/surface_meshing.h"
#include "tests/physics/geometry/meshing/surface/sample_surfaces.h"

namespace pliant::physics {
namespace {

TEST(LargeSurfaces, AMillionTrianglesAreFilled) {
  const TriangleMesh scan = MakeSphereSurface(510, 1, 0.2);
  ASSERT_GT(scan.triangles.size(), 1'000'000u);
  SurfaceMeshing options;
  options.edge_length = 0.1;
  const auto meshed = MeshSurface(scan, options);
  ASSERT_TRUE(meshed.ok()) << meshed.status();
  EXPECT_TRUE(FindDefects(meshed->mesh).empty());
  EXPECT_GE(meshed->min_dihedral, 10 * kPi / 180);
  EXPECT_NEAR(CalcVolume(meshed->mesh) / CalcEnclosedVolume(scan), 1, 0.01);
}

}  // namespace
}  // namespace pliant::physics
