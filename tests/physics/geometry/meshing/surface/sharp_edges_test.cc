#include <array>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/geometry/meshing/surface/surface_meshing.h"
#include "tests/physics/geometry/meshing/surface/same_bits.h"
#include "tests/physics/geometry/meshing/surface/sample_surfaces.h"

namespace pliant::physics {
namespace {

using Eigen::Vector2d;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A block with a slot in its top and a hole beside it.
TriangleMesh MakeSlottedBlock() {
  return MakeDrilledPrism(
      {{0, 0}, {4, 0}, {4, 2}, {2.2, 2}, {2.2, 1.1}, {1.5, 1.1}, {1.5, 2}, {0, 2}}, 2, {3.1, 1},
      0.45, 48, 0, 1.2);
}

// Two faces meet at an angle of 30°.
TriangleMesh MakeWedge() {
  return MakePrismSurface({{0, 0}, {3, 0}, {3, 1.732}}, 0, 1.5);
}

// An L with a hole in its foot of about the thickness of its legs.
TriangleMesh MakeDrilledBracket() {
  return MakeDrilledPrism({{0, 0}, {4, 0}, {4, 1.2}, {1, 1.2}, {1, 3}, {0, 3}}, 2, {2.8, 0.6}, 0.3,
                          40, 0, 1);
}

struct Part {
  std::string name;
  TriangleMesh surface;
  std::vector<double> edges;
};

std::vector<Part> MakeParts() {
  return {{"slotted block", MakeSlottedBlock(), {0.3, 0.21, 0.15}},
          {"wedge", MakeWedge(), {0.25, 0.16}},
          {"bracket", MakeDrilledBracket(), {0.31, 0.2, 0.14}}};
}

TEST(SharpEdges, StayWithinATenthOfAnEdge) {
  for (const Part& part : MakeParts()) {
    for (const double edge : part.edges) {
      SCOPED_TRACE(part.name + ", edge length " + std::to_string(edge));
      ASSERT_FALSE(part.surface.triangles.empty());
      SurfaceMeshing options;
      options.edge_length = edge;
      const auto meshed = MeshSurface(part.surface, options);
      ASSERT_TRUE(meshed.ok()) << meshed.status();
      EXPECT_THAT(FindDefects(meshed->mesh), IsEmpty());
      EXPECT_GE(meshed->min_dihedral, 10 * kPi / 180) << meshed->min_dihedral * 180 / kPi;
      EXPECT_NEAR(CalcVolume(meshed->mesh) / CalcEnclosedVolume(part.surface), 1, 0.01);
      const TriangleMesh surface = SurfaceOf(meshed->mesh);
      EXPECT_LE(CalcHausdorffDistance(part.surface, surface, edge / 4), edge / 4);
      const SharpEdgeDistance distance =
          CalcSharpEdgeDistance(part.surface, surface, options.sharp_angle, edge / 20);
      EXPECT_LE(distance.to_surface, edge / 10);
      EXPECT_LE(distance.to_edges, edge / 10);
      EXPECT_THAT(meshed->warnings, Not(Contains(HasSubstr("sharp edges"))));
    }
  }
}

TEST(SharpEdges, TheWallOfAHoleAboutAsWideAsAnEdgeStaysWithinAQuarter) {
  const double edge = 0.9;
  for (const double height : {1.27, 2.0}) {
    SCOPED_TRACE(height);
    const TriangleMesh plate =
        MakeDrilledPrism({{0, 0}, {6, 0}, {6, 6}, {0, 6}}, 2, {3, 3}, 0.5, 24, 0, height);
    SurfaceMeshing options;
    options.edge_length = edge;
    const auto meshed = MeshSurface(plate, options);
    ASSERT_TRUE(meshed.ok()) << meshed.status();
    EXPECT_GE(meshed->min_dihedral, 10 * kPi / 180) << meshed->min_dihedral * 180 / kPi;
    EXPECT_LE(CalcHausdorffDistance(plate, SurfaceOf(meshed->mesh), edge / 8), edge / 4);
  }
}

TEST(SharpEdges, HaveTheSameBitsForOneAndTwoThreads) {
  SurfaceMeshing options;
  options.edge_length = 0.2;
  ExpectSameBitsForOneAndTwoThreads(MakeDrilledBracket(), options);
}

TEST(SharpEdges, ShortenEdgesNearThemOnly) {
  // the same plate with a small hole and without: the hole is fine, the plate stays coarse
  const std::vector<Vector2d> square = {{0, 0}, {6, 0}, {6, 6}, {0, 6}};
  SurfaceMeshing options;
  options.edge_length = 0.4;
  const auto plain = MeshSurface(MakePrismSurface(square, 0, 1), options);
  const auto drilled = MeshSurface(MakeDrilledPrism(square, 2, {3, 3}, 0.35, 32, 0, 1), options);
  ASSERT_TRUE(plain.ok()) << plain.status();
  ASSERT_TRUE(drilled.ok()) << drilled.status();
  EXPECT_LT(static_cast<double>(drilled->mesh.tetrahedra.size()),
            1.5 * static_cast<double>(plain->mesh.tetrahedra.size()));
}

}  // namespace
}  // namespace pliant::physics
