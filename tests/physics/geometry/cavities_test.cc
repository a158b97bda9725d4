#include "physics/geometry/cavities.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

Cavities FindIn(const TetrahedralMesh& mesh) {
  return FindCavities(ExtractBoundary(mesh), mesh.vertices);
}

TEST(Cavities, HollowSphereHasOne) {
  const TetrahedralMesh mesh = *MeshHollowSphere(0.1, 0.03, 0.012);
  const Cavities cavities = FindIn(mesh);
  EXPECT_EQ(cavities.count, 1);
  EXPECT_EQ(cavities.num_pieces, 2);
  EXPECT_TRUE(IsClosed(cavities.triangles));
  const double inner = CalcEnclosedVolume(cavities.triangles, mesh.vertices);
  // facets of about 12 mm lie up to (0.0085/0.07)²/2 below the sphere
  EXPECT_NEAR(inner, 4.0 / 3 * kPi * 0.07 * 0.07 * 0.07, 0.03 * inner);
  const double outer = CalcEnclosedVolume(ExtractBoundary(mesh).triangles, mesh.vertices);
  EXPECT_NEAR(outer, CalcVolume(mesh), 1e-12 * outer);
  EXPECT_NEAR(inner / (outer + inner), 0.343, 1e-12);  // the layers are similar
}

TEST(Cavities, SolidBodyHasNone) {
  EXPECT_EQ(FindIn(*MeshSphere(0.1, 0.03)).count, 0);
  EXPECT_EQ(FindIn(*MeshTorus(0.2, 0.05, 0.03)).count, 0);
}

TEST(Cavities, WallWithAnOpeningHasNone) {
  TetrahedralMesh mesh = *MeshHollowSphere(0.1, 0.02, 0.03);
  // without the prisms around a vertex of its only layer
  const int count = static_cast<int>(mesh.vertices.size()) / 2;
  std::erase_if(mesh.tetrahedra, [&](const std::array<int, 4>& t) {
    return std::ranges::any_of(t, [&](int v) { return v % count == 0; });
  });
  const Cavities cavities = FindIn(mesh);
  EXPECT_EQ(cavities.count, 0);
  EXPECT_EQ(cavities.num_pieces, 1);
}

TEST(Cavities, TwoCavitiesCountAsTwo) {
  TetrahedralMesh mesh = *MeshHollowSphere(0.1, 0.03, 0.03);
  const TetrahedralMesh other = mesh;
  const int first = static_cast<int>(mesh.vertices.size());
  for (const Eigen::Vector3d& p : other.vertices)
    mesh.vertices.push_back(p + Eigen::Vector3d(0.3, 0, 0));
  for (std::array<int, 4> t : other.tetrahedra) {
    for (int& v : t) v += first;
    mesh.tetrahedra.push_back(t);
  }
  EXPECT_EQ(FindIn(mesh).count, 2);
}

}  // namespace
}  // namespace pliant::physics
