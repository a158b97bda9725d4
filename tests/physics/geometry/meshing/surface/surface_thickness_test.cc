#include "physics/geometry/meshing/surface/surface_thickness.h"

#include "gtest/gtest.h"

#include "physics/geometry/meshing/surface/surface_meshing.h"
#include "tests/physics/geometry/meshing/surface/sample_surfaces.h"

namespace pliant::physics {
namespace {

std::size_t CountTetrahedra(const TriangleMesh& surface, double edge_length) {
  SurfaceMeshing options;
  options.edge_length = edge_length;
  options.max_refined = 1;
  const auto meshed = MeshSurface(surface, options);
  EXPECT_TRUE(meshed.ok()) << meshed.status();
  return meshed.ok() ? meshed->mesh.tetrahedra.size() : 0;
}

TEST(SurfaceThickness, IsThatOfAPlateAndOfItsEdges) {
  const auto region = SurfaceRegion::Make(MakeBoxSurface({1, 1, 0.1}));
  ASSERT_TRUE(region.ok());
  const std::vector<ThicknessSample> samples = SampleThickness(*region, 0.05, 10);
  double area = 0;
  for (const ThicknessSample& sample : samples) area += sample.area;
  EXPECT_NEAR(area, 2.4, 1e-9);
  EXPECT_NEAR(FindThickness(samples, 0.01), 0.1, 1e-6);
  EXPECT_NEAR(FindThickness(samples, 0.8), 0.1, 1e-6);
  EXPECT_NEAR(FindThickness(samples, 0.9), 1, 1e-6);
}

TEST(ChooseEdgeLength, GivesAboutSoManyTetrahedra) {
  for (const TriangleMesh& surface :
       {MakeSphereSurface(40), MakeSphereSurface(40, 1, 0.3), MakeBoxSurface({1, 0.7, 0.4}),
        MakeBoxSurface({3, 0.5, 0.5})}) {
    const auto edge = ChooseEdgeLength(surface, {});
    ASSERT_TRUE(edge.ok()) << edge.status();
    const std::size_t count = CountTetrahedra(surface, *edge);
    EXPECT_GT(count, 3500u);
    EXPECT_LT(count, 6500u);
  }
}

// Its signed volume is about zero.
TEST(ChooseEdgeLength, CountsWhatSurfacesOfAnyKindEnclose) {
  TriangleMesh sphere = MakeSphereSurface(40);
  for (std::size_t i = 0; i < sphere.triangles.size(); i += 2)
    std::swap(sphere.triangles[i][0], sphere.triangles[i][1]);
  const auto edge = ChooseEdgeLength(sphere, {}),
             sound = ChooseEdgeLength(MakeSphereSurface(40), {});
  ASSERT_TRUE(edge.ok() && sound.ok());
  EXPECT_NEAR(*edge / *sound, 1, 1e-9);
}

TEST(ChooseEdgeLength, IsShorterWhereTheBodyIsThin) {
  // a block with a fin of a fiftieth of its size
  const TriangleMesh part =
      MakePrismSurface({{0, 0}, {1.8, 0}, {1.8, 0.1}, {1, 0.1}, {1, 1}, {0, 1}}, 0, 1);
  EdgeChoice choice;
  choice.if_thin = choice.tetrahedra;
  const auto even = ChooseEdgeLength(part, choice);
  choice.if_thin = 10000;
  const auto some = ChooseEdgeLength(part, choice);
  choice.if_thin = 1e6;
  const auto resolved = ChooseEdgeLength(part, choice);
  ASSERT_TRUE(even.ok() && some.ok() && resolved.ok());
  EXPECT_LE(*some, *even);
  EXPECT_LE(*resolved, *some);
  EXPECT_GE(*resolved, 0.1 / kResolvedThickness - 1e-6);
  EXPECT_LT(CountTetrahedra(part, *some), 13000u);
}

TEST(ChooseEdgeLength, ASheetIsNeverTooThinForItsEdges) {
  const TriangleMesh sheet = MakeBoxSurface({1, 1, 0.01});
  const auto edge = ChooseEdgeLength(sheet, {});
  ASSERT_TRUE(edge.ok());
  EXPECT_NEAR(*edge, 0.01 / kResolvedThickness, 1e-4);
  const std::size_t count = CountTetrahedra(sheet, *edge);
  EXPECT_GT(count, 10000u);
  EXPECT_LT(count, 100000u);
}

TEST(ChooseEdgeLength, IsAtLeastTheShortestAndRefusesWhatEnclosesNothing) {
  EdgeChoice choice;
  choice.shortest = 0.5;
  const auto edge = ChooseEdgeLength(MakeSphereSurface(20), choice);
  ASSERT_TRUE(edge.ok());
  EXPECT_EQ(*edge, 0.5);
  TriangleMesh sheet = MakeBoxSurface({1, 1, 1});
  sheet.triangles.resize(1);
  EXPECT_FALSE(ChooseEdgeLength(sheet, {}).ok());
}

}  // namespace
}  // namespace pliant::physics
