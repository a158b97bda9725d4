#include "physics/geometry/meshing/tetrahedral_meshes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/geometry/meshing/grid_mesh.h"
#include "physics/geometry/meshing/tetrahedron_quality.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using ::testing::HasSubstr;

constexpr double kPi = 3.14159265358979323846;

struct Quality {
  double smallest_angle = 180;  // dihedral [degrees]
  double largest_angle = 0;
  double shortest_edge = std::numeric_limits<double>::infinity();
  double longest_edge = 0;
};

Quality Measure(const TetrahedralMesh& mesh) {
  Quality quality;
  for (const auto& t : mesh.tetrahedra) {
    for (int i = 0; i < 4; ++i) {
      for (int j = i + 1; j < 4; ++j) {
        std::array<int, 2> others;
        int count = 0;
        for (int k = 0; k < 4; ++k) {
          if (k != i && k != j) others[count++] = k;
        }
        const Vector3d& origin = mesh.vertices[t[i]];
        const Vector3d edge = mesh.vertices[t[j]] - origin;
        const Vector3d a = edge.cross(mesh.vertices[t[others[0]]] - origin);
        const Vector3d b = edge.cross(mesh.vertices[t[others[1]]] - origin);
        const double angle = std::atan2(a.cross(b).norm(), a.dot(b)) * 180 / kPi;
        quality.smallest_angle = std::min(quality.smallest_angle, angle);
        quality.largest_angle = std::max(quality.largest_angle, angle);
        quality.shortest_edge = std::min(quality.shortest_edge, edge.norm());
        quality.longest_edge = std::max(quality.longest_edge, edge.norm());
      }
    }
  }
  return quality;
}

// Expects positive tetrahedra, no unused vertices, a closed boundary with the Euler characteristic
// of the shape, and boundary vertices whose `distance` is zero to 8 ulp of the size.
template <typename Distance>
void ExpectGoodMesh(const TetrahedralMesh& mesh, int euler, double size, const Distance& distance) {
  std::vector<bool> used(mesh.vertices.size(), false);
  for (const auto& t : mesh.tetrahedra) {
    ASSERT_GT(CalcSixVolumes(mesh.vertices[t[0]], mesh.vertices[t[1]], mesh.vertices[t[2]],
                             mesh.vertices[t[3]]),
              0);
    for (const int v : t) used[v] = true;
  }
  EXPECT_EQ(std::count(used.begin(), used.end(), false), 0);

  const BoundarySurface boundary = ExtractBoundary(mesh);
  std::map<std::pair<int, int>, int> edges;
  for (const auto& triangle : boundary.triangles) {
    for (int i = 0; i < 3; ++i) ++edges[{triangle[i], triangle[(i + 1) % 3]}];
  }
  for (const auto& [edge, count] : edges) {
    ASSERT_EQ(count, 1);
    ASSERT_EQ(edges.count({edge.second, edge.first}), 1u);
  }
  EXPECT_EQ(static_cast<int>(boundary.vertices.size()) - static_cast<int>(edges.size() / 2) +
                static_cast<int>(boundary.triangles.size()),
            euler);

  constexpr double kUlp = std::numeric_limits<double>::epsilon();
  for (const int v : boundary.vertices)
    ASSERT_LE(std::abs(distance(mesh.vertices[v])), 8 * kUlp * size);
  for (const Vector3d& p : mesh.vertices) ASSERT_LE(distance(p), 8 * kUlp * size);
}

double BoxDistance(const Vector3d& p, const Vector3d& size) {
  return (p.cwiseAbs() - size / 2).maxCoeff();
}

// Expects the lost fraction of the volume to fall by four when the edge is halved; the next order
// changes that by less than a tenth.
template <typename Mesh>
void ExpectSecondOrderVolume(double exact, double edge_length, const Mesh& mesh_at) {
  const double coarse = 1 - CalcVolume(*mesh_at(edge_length)) / exact;
  const double fine = 1 - CalcVolume(*mesh_at(edge_length / 2)) / exact;
  EXPECT_GT(fine, 0);
  EXPECT_NEAR(coarse / fine, 4, 0.4);
}

TEST(GridMesh, HasTheCellsAndNumbersThatWereAsked) {
  const auto mesh = MeshGrid({0.2, 0.6, 0.4}, {1, 3, 4});
  ASSERT_TRUE(mesh.ok());
  EXPECT_EQ(mesh->vertices.size(), 2u * 4 * 5);
  EXPECT_EQ(mesh->tetrahedra.size(), 6u * 1 * 3 * 4);
  EXPECT_NEAR(CalcVolume(*mesh), 0.2 * 0.6 * 0.4, 1e-16);
  for (int k = 0; k <= 4; ++k) {
    for (int j = 0; j <= 3; ++j) {
      for (int i = 0; i <= 1; ++i) {
        const Vector3d p(0.2 * i - 0.1, 0.2 * j - 0.3, 0.1 * k - 0.2);
        EXPECT_LE((mesh->vertices[(k * 4 + j) * 2 + i] - p).norm(), 1e-15);
      }
    }
  }
  EXPECT_FALSE(MeshGrid({1, 1, 1}, {1, 0, 1}).ok());
  EXPECT_FALSE(MeshGrid({1, -1, 1}, {1, 1, 1}).ok());
  EXPECT_FALSE(MeshGrid({1, 1, 1}, {1000, 1000, 1000}).ok());
}

TEST(Boundary, FacesOfOneTetrahedronPointOutwards) {
  TetrahedralMesh mesh;
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  mesh.tetrahedra = {{0, 1, 2, 3}};
  const BoundarySurface boundary = ExtractBoundary(mesh);
  ASSERT_EQ(boundary.triangles.size(), 4u);
  for (const auto& t : boundary.triangles) {
    const Vector3d& a = mesh.vertices[t[0]];
    const Vector3d normal = (mesh.vertices[t[1]] - a).cross(mesh.vertices[t[2]] - a);
    EXPECT_GT(normal.dot(a - Vector3d::Constant(0.25)), 0);
  }
  EXPECT_EQ(boundary.vertices, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_DOUBLE_EQ(CalcVolume(mesh), 1.0 / 6);
  std::swap(mesh.tetrahedra[0][0], mesh.tetrahedra[0][1]);
  EXPECT_DOUBLE_EQ(CalcVolume(mesh), -1.0 / 6);
}

TEST(Boundary, LeavesOutSharedFacesAndInnerVertices) {
  const TetrahedralMesh mesh = *MeshBox({2, 2, 2}, 1);
  const BoundarySurface boundary = ExtractBoundary(mesh);
  EXPECT_EQ(boundary.triangles.size(), 6 * 4 * 2u);
  EXPECT_EQ(boundary.vertices.size(), 26u);
  EXPECT_FALSE(std::binary_search(boundary.vertices.begin(), boundary.vertices.end(), 13));
}

TEST(Boundary, FluxOfPositionThroughItIsThreeTimesTheVolume) {
  const TetrahedralMesh mesh = *MeshSphere(0.7, 0.2);
  double flux = 0;
  for (const auto& t : ExtractBoundary(mesh).triangles) {
    flux += mesh.vertices[t[0]].cross(mesh.vertices[t[1]]).dot(mesh.vertices[t[2]]) / 2;
  }
  EXPECT_NEAR(flux, 3 * CalcVolume(mesh), 1e-13);
}

TEST(BoxMesh, FillsTheBoxWithRoundedNumbersOfCells) {
  const Vector3d size(0.3, 0.1, 0.11);
  const TetrahedralMesh mesh = *MeshBox(size, 0.04);
  EXPECT_EQ(mesh.vertices.size(),
            (8 + 1) * (3 + 1) * (3 + 1u));  // 7.5, 2.5 and 2.75 cells, rounded
  EXPECT_EQ(mesh.tetrahedra.size(), 6 * 8 * 3 * 3u);
  EXPECT_NEAR(CalcVolume(mesh), size.prod(), 1e-16);
  ExpectGoodMesh(mesh, 2, 0.3, [&](const Vector3d& p) { return BoxDistance(p, size); });
  const Quality quality = Measure(*MeshBox({2, 2, 2}, 0.5));
  EXPECT_NEAR(quality.smallest_angle, 45, 1e-9);
  EXPECT_NEAR(quality.largest_angle, 90, 1e-9);
}

TEST(BoxMesh, IsItsOwnMirrorImageAndHasNoPreferredAxis) {
  const TetrahedralMesh mesh = *MeshBox({1, 1, 1}, 0.25);
  using Corner = std::tuple<double, double, double>;
  const auto image = [&mesh](const auto& map) {
    std::set<std::set<Corner>> tetrahedra;
    for (const auto& t : mesh.tetrahedra) {
      std::set<Corner> corners;
      for (const int v : t) {
        const Vector3d p = map(mesh.vertices[v]);
        corners.emplace(p.x(), p.y(), p.z());
      }
      tetrahedra.insert(corners);
    }
    return tetrahedra;
  };
  const auto same = image([](const Vector3d& p) { return p; });
  EXPECT_EQ(image([](const Vector3d& p) { return Vector3d(0 - p.x(), p.y(), p.z()); }), same);
  EXPECT_EQ(image([](const Vector3d& p) { return Vector3d(p.x(), 0 - p.y(), p.z()); }), same);
  EXPECT_EQ(image([](const Vector3d& p) { return Vector3d(p.x(), p.y(), 0 - p.z()); }), same);
  EXPECT_EQ(image([](const Vector3d& p) { return Vector3d(p.y(), p.z(), p.x()); }), same);
  EXPECT_EQ(image([](const Vector3d& p) { return Vector3d(p.y(), p.x(), p.z()); }), same);
}

TEST(BoxMesh, IsOneCellWhenTheEdgeIsLongerThanTheBox) {
  EXPECT_EQ(MeshBox({0.1, 0.1, 0.1}, 5)->tetrahedra.size(), 6u);
}

TEST(SphereMesh, HasWellShapedTetrahedraUpToTheSurface) {
  const TetrahedralMesh mesh = *MeshSphere(0.05, 0.01);
  EXPECT_EQ(mesh.vertices.size(), 561u);
  EXPECT_EQ(mesh.tetrahedra.size(), 2500u);
  ExpectGoodMesh(mesh, 2, 0.05, [](const Vector3d& p) { return p.norm() - 0.05; });
  const Quality quality = Measure(mesh);
  EXPECT_GT(quality.smallest_angle, 40);
  EXPECT_LT(quality.largest_angle, 120);
  EXPECT_GT(quality.shortest_edge, 0.6 * 0.01);
  EXPECT_LT(quality.longest_edge, 1.9 * 0.01);  // diagonals of octahedra
}

TEST(SphereMesh, VolumeConvergesWithTheSquareOfTheEdge) {
  ExpectSecondOrderVolume(4 * kPi / 3, 0.2, [](double edge) { return MeshSphere(1, edge); });
}

TEST(SphereMesh, IsAnIcosahedronWhenTheEdgeIsLongerThanTheRadius) {
  EXPECT_EQ(MeshSphere(0.1, 5)->vertices.size(), 13u);
}

double CapsuleDistance(const Vector3d& p, double radius, double length) {
  return (p - Vector3d(0, 0, std::clamp(p.z(), -length / 2, length / 2))).norm() - radius;
}

double TorusDistance(const Vector3d& p, double ring_radius, double tube_radius) {
  return std::hypot(std::hypot(p.x(), p.y()) - ring_radius, p.z()) - tube_radius;
}

TEST(CylinderMesh, HasSharpRimsAndWellShapedTetrahedra) {
  const TetrahedralMesh mesh = *MeshCylinder(0.5, 2, 0.125);
  EXPECT_EQ(mesh.vertices.size(), 61 * 17u);
  ExpectGoodMesh(mesh, 2, 1, [](const Vector3d& p) {
    return std::max(std::hypot(p.x(), p.y()) - 0.5, std::abs(p.z()) - 1);
  });
  EXPECT_NEAR(CalcVolume(mesh), kPi / 2, 0.02 * kPi / 2);
  const Quality quality = Measure(mesh);
  EXPECT_GT(quality.smallest_angle, 34);
  EXPECT_LT(quality.largest_angle, 125);
}

TEST(CylinderMesh, VolumeIsThatOfTheInscribedPrism) {
  for (const double edge : {1.0, 0.5, 0.25}) {
    const double sides = 6 / edge;
    EXPECT_NEAR(CalcVolume(*MeshCylinder(1, 3, edge)), 3 * sides / 2 * std::sin(2 * kPi / sides),
                1e-13);
  }
}

TEST(CapsuleMesh, IsSmoothAtTheShouldersWithWellShapedTetrahedra) {
  for (const double length : {0.0, 0.004, 0.1}) {
    const TetrahedralMesh mesh = *MeshCapsule(0.05, length, 0.0125);
    ExpectGoodMesh(mesh, 2, 0.1,
                   [=](const Vector3d& p) { return CapsuleDistance(p, 0.05, length); });
    const Quality quality = Measure(mesh);
    EXPECT_GT(quality.smallest_angle, 28);
    EXPECT_LT(quality.largest_angle, 132);
  }
}

TEST(CapsuleMesh, VolumeConvergesWithTheSquareOfTheEdge) {
  ExpectSecondOrderVolume(2 * kPi + 4 * kPi / 3, 0.25,
                          [](double edge) { return MeshCapsule(1, 2, edge); });
}

TEST(TorusMesh, HasOneHoleAndWellShapedTetrahedra) {
  const TetrahedralMesh mesh = *MeshTorus(0.1, 0.03, 0.01);
  ExpectGoodMesh(mesh, 0, 0.13, [](const Vector3d& p) { return TorusDistance(p, 0.1, 0.03); });
  const Quality quality = Measure(mesh);
  EXPECT_GT(quality.smallest_angle, 28);
  EXPECT_LT(quality.largest_angle, 130);
}

TEST(TorusMesh, VolumeConvergesWithTheSquareOfTheEdge) {
  ExpectSecondOrderVolume(2 * kPi * kPi * 0.3 * 0.3, 0.1,
                          [](double edge) { return MeshTorus(1, 0.3, edge); });
}

TEST(PrimitiveMeshes, AreSoundAtTheCoarsest) {
  ExpectGoodMesh(*MeshCylinder(0.1, 0.1, 9), 2, 0.1, [](const Vector3d& p) {
    return std::max(std::hypot(p.x(), p.y()) - 0.1, std::abs(p.z()) - 0.05);
  });
  ExpectGoodMesh(*MeshCapsule(0.1, 0.1, 9), 2, 0.1,
                 [](const Vector3d& p) { return CapsuleDistance(p, 0.1, 0.1); });
  ExpectGoodMesh(*MeshTorus(0.1, 0.02, 9), 0, 0.12,
                 [](const Vector3d& p) { return TorusDistance(p, 0.1, 0.02); });
}

TEST(PrimitiveMeshes, RefuseImpossibleSizesByNameAndValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto expect_refused = [](const absl::Status& status, const char* text) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  };
  expect_refused(MeshBox({1, -2, 1}, 0.1).status(), "size[1]: -2 is not allowed");
  expect_refused(MeshBox({1, 1, nan}, 0.1).status(), "size[2]: nan is not allowed");
  expect_refused(MeshBox({1, 1, 1}, 0).status(), "edge_length: 0 is not allowed");
  expect_refused(MeshSphere(0, 0.1).status(), "radius: 0 is not allowed");
  expect_refused(MeshSphere(1, std::numeric_limits<double>::infinity()).status(),
                 "edge_length: inf is not allowed");
  expect_refused(MeshCylinder(0.1, 0, 0.1).status(), "length: 0 is not allowed");
  expect_refused(MeshCapsule(0.1, -1, 0.1).status(), "length: -1 is not allowed");
  expect_refused(MeshTorus(0.1, 0.1, 0.1).status(),
                 "tube_radius: 0.1 is not allowed; expected less than ring_radius 0.1");
}

TEST(PrimitiveMeshes, RefuseMoreTetrahedraThanTheLimitBeforeMakingThem) {
  EXPECT_THAT(std::string(MeshBox({1e9, 1e9, 1e9}, 1e-9).status().message()),
              HasSubstr("tetrahedra; expected at most"));
  EXPECT_THAT(std::string(MeshSphere(1, 0.01).status().message()),
              HasSubstr("2e+07 tetrahedra; expected at most 2e+06"));
  EXPECT_EQ(MeshCylinder(1, 1, 0.01).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MeshCapsule(1, 1, 0.01).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MeshTorus(1, 0.5, 0.001).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PrimitiveMeshes, AreCancelledHalfway) {
  const std::map<std::string, std::function<absl::Status(const IsCancelled&)>> meshers = {
      {"box",
       [](const IsCancelled& is) {
         return MeshBox({1, 1, 1}, 0.1, is).status();
       }},
      {"sphere", [](const IsCancelled& is) { return MeshSphere(1, 0.1, is).status(); }},
      {"cylinder", [](const IsCancelled& is) { return MeshCylinder(1, 2, 0.1, is).status(); }},
      {"capsule", [](const IsCancelled& is) { return MeshCapsule(1, 2, 0.1, is).status(); }},
      {"torus", [](const IsCancelled& is) { return MeshTorus(1, 0.3, 0.1, 0, is).status(); }}};
  for (const auto& [name, mesh] : meshers) {
    int all = 0;
    EXPECT_TRUE(mesh([&] {
                  ++all;
                  return false;
                }).ok());
    EXPECT_GE(all, 10) << name;
    // no further call after a cancellation
    int asked = 0;
    EXPECT_EQ(mesh([&] { return ++asked == all / 2; }).code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(asked, all / 2) << name;
  }
}

}  // namespace
}  // namespace pliant::physics
