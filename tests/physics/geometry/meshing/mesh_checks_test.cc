#include "physics/geometry/meshing/mesh_checks.h"

#include <limits>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One valid tetrahedron (0, 1, 2, 3), and one (1, 2, 3, 4) on its slanted face.
TetrahedralMesh MakePair() {
  TetrahedralMesh mesh;
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 1}};
  mesh.tetrahedra = {{0, 1, 2, 3}, {1, 2, 3, 4}};
  return mesh;
}

std::vector<int> Find(const TetrahedralMesh& mesh, MeshDefectKind kind) {
  for (const MeshDefect& defect : FindDefects(mesh)) {
    if (defect.kind == kind) return defect.ids;
  }
  return {};
}

TEST(MeshChecks, FindNothingWrongWithASoundMesh) {
  EXPECT_THAT(FindDefects(MakePair()), IsEmpty());
  EXPECT_THAT(FindDefects(*MeshBox({1, 1, 1}, 0.3)), IsEmpty());
  EXPECT_FALSE(RepairMesh(MakePair()).changed());
}

TEST(MeshChecks, FindInvertedTetrahedraAndRepairFlipsThem) {
  TetrahedralMesh mesh = MakePair();
  mesh.labels = {7, 8};
  const double volume = CalcVolume(mesh);
  std::swap(mesh.tetrahedra[1][0], mesh.tetrahedra[1][1]);
  EXPECT_THAT(Find(mesh, MeshDefectKind::kInverted), ElementsAre(1));
  EXPECT_EQ(FindDefects(mesh).size(), 1u);

  const MeshRepair repair = RepairMesh(mesh);
  EXPECT_EQ(repair.flipped, 1);
  EXPECT_EQ(Describe(repair), "flipped 1 tetrahedron");
  EXPECT_DOUBLE_EQ(CalcVolume(repair.mesh), volume);
  EXPECT_THAT(repair.mesh.labels, ElementsAre(7, 8));
  EXPECT_THAT(FindDefects(repair.mesh), IsEmpty());
}

TEST(MeshChecks, DegenerateIsRelativeToTheSizeOfTheTetrahedron) {
  TetrahedralMesh mesh = MakePair();
  mesh.vertices.emplace_back(0.3, 0.3, -1e-7);  // just below the face (0, 1, 2)
  mesh.tetrahedra.push_back({0, 2, 1, 5});
  mesh.tetrahedra.push_back({1, 1, 2, 3});  // repeated corner
  EXPECT_THAT(Find(mesh, MeshDefectKind::kDegenerate), ElementsAre(2, 3));
  for (auto& p : mesh.vertices) p *= 1e-5;
  EXPECT_THAT(Find(mesh, MeshDefectKind::kDegenerate), ElementsAre(2, 3));
  mesh.vertices[5].z() *= 100;  // ten times above the limit
  EXPECT_THAT(Find(mesh, MeshDefectKind::kDegenerate), ElementsAre(3));

  mesh.vertices[5].z() /= 100;
  const MeshRepair repair = RepairMesh(mesh);
  EXPECT_EQ(Describe(repair), "dropped 2 degenerate tetrahedra, dropped 1 unused vertex");
  EXPECT_THAT(repair.vertices, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(FindDefects(repair.mesh), IsEmpty());
}

TEST(MeshChecks, FindDuplicatesWhateverTheOrderOfTheirCorners) {
  TetrahedralMesh mesh = MakePair();
  mesh.tetrahedra.insert(mesh.tetrahedra.begin() + 1, {3, 2, 1, 0});
  mesh.tetrahedra.push_back({1, 2, 3, 4});
  EXPECT_THAT(Find(mesh, MeshDefectKind::kDuplicate), ElementsAre(1, 3));
  EXPECT_THAT(Find(mesh, MeshDefectKind::kOverfullFace), IsEmpty());
  const MeshRepair repair = RepairMesh(mesh);
  EXPECT_EQ(repair.dropped_duplicates, 2);
  EXPECT_THAT(repair.tetrahedra, ElementsAre(0, 2));
  EXPECT_THAT(FindDefects(repair.mesh), IsEmpty());
}

TEST(MeshChecks, RepairClosesTheGapsOfUnusedVertices) {
  TetrahedralMesh mesh = MakePair();
  mesh.vertices.insert(mesh.vertices.begin() + 2, {9, 9, 9});
  for (auto& t : mesh.tetrahedra) {
    for (int& v : t) v += v >= 2;
  }
  EXPECT_THAT(Find(mesh, MeshDefectKind::kUnusedVertex), ElementsAre(2));
  EXPECT_TRUE(FindDefects(mesh)[0].harmless());
  const MeshRepair repair = RepairMesh(mesh);
  EXPECT_EQ(repair.mesh.tetrahedra, MakePair().tetrahedra);
  EXPECT_EQ(repair.mesh.vertices, MakePair().vertices);
  EXPECT_THAT(repair.vertices, ElementsAre(0, 1, 3, 4, 5));
}

TEST(MeshChecks, NonFiniteAndMissingVerticesHaveNoMend) {
  TetrahedralMesh mesh = MakePair();
  mesh.vertices[4].y() = std::numeric_limits<double>::quiet_NaN();
  mesh.tetrahedra.push_back({0, 1, 2, 5});
  mesh.tetrahedra.push_back({-1, 1, 2, 3});
  EXPECT_THAT(Find(mesh, MeshDefectKind::kNonFiniteVertex), ElementsAre(4));
  EXPECT_THAT(Find(mesh, MeshDefectKind::kMissingVertex), ElementsAre(2, 3));
  const MeshRepair repair = RepairMesh(mesh);
  EXPECT_THAT(Find(repair.mesh, MeshDefectKind::kNonFiniteVertex), ElementsAre(4));
  EXPECT_THAT(Find(repair.mesh, MeshDefectKind::kMissingVertex), ElementsAre(2, 3));
}

TEST(MeshChecks, FindFacesOfThreeTetrahedraAndPinchedEdges) {
  TetrahedralMesh mesh = MakePair();
  mesh.vertices.emplace_back(2, 2, 2);
  mesh.tetrahedra.push_back({1, 2, 3, 5});
  EXPECT_THAT(Find(mesh, MeshDefectKind::kOverfullFace), ElementsAre(0, 1, 2));

  TetrahedralMesh hinge;  // two tetrahedra that share only the edge (0, 1)
  hinge.vertices = {{0, 0, 0}, {0, 0, 1}, {1, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {0, -1, 0}};
  hinge.tetrahedra = {{0, 2, 3, 1}, {0, 4, 5, 1}};
  EXPECT_THAT(Find(hinge, MeshDefectKind::kNonManifoldBoundary), ElementsAre(0, 1));
  EXPECT_EQ(FindDefects(hinge).size(), 1u);
}

TEST(MeshChecks, DescriptionNamesCountAndFirstIds) {
  EXPECT_EQ(Describe(MeshDefect{MeshDefectKind::kInverted, {5}}), "1 inverted tetrahedron (5)");
  EXPECT_EQ(Describe(MeshDefect{MeshDefectKind::kDuplicate, {5, 9, 12}}),
            "3 duplicate tetrahedra (5, 9, 12)");
  EXPECT_EQ(Describe(MeshDefect{MeshDefectKind::kUnusedVertex, {0, 1, 2, 3, 4, 5, 6, 7, 8}}),
            "9 unused vertices (0, 1, 2, 3, 4, 5, 6, 7, …)");
}

}  // namespace
}  // namespace pliant::physics
