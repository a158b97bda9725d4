#include "physics/geometry/meshing/surface/surface_meshing.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "physics/geometry/meshing/mesh_checks.h"
#include "physics/geometry/meshing/tetrahedron_quality.h"
#include "tests/physics/geometry/meshing/surface/same_bits.h"
#include "tests/physics/geometry/meshing/surface/sample_surfaces.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kTenDegrees = 10 * kPi / 180;

SurfaceMeshing WithEdge(double edge_length) {
  SurfaceMeshing options;
  options.edge_length = edge_length;
  return options;
}

// Checks a mesh against the surface that it fills: sound, no angle below 10°, volume within 1 % and
// distance within a quarter of an edge.
void ExpectFills(const TetrahedralMesh& mesh, const TriangleMesh& surface, double edge_length) {
  EXPECT_THAT(FindDefects(mesh), IsEmpty());
  double least = kPi;
  for (const auto& t : mesh.tetrahedra) {
    least = std::min(least, CalcMinDihedral(mesh.vertices[t[0]], mesh.vertices[t[1]],
                                            mesh.vertices[t[2]], mesh.vertices[t[3]]));
  }
  EXPECT_GE(least, kTenDegrees) << least * 180 / kPi;
  EXPECT_NEAR(CalcVolume(mesh) / CalcEnclosedVolume(surface), 1, 0.01);
  EXPECT_LE(CalcHausdorffDistance(surface, SurfaceOf(mesh), edge_length / 4), edge_length / 4);
}

std::vector<Eigen::Vector2d> MakeBracket() {
  return {{0, 0}, {4, 0}, {4, 1}, {1, 1}, {1, 3}, {0, 3}};
}

TEST(SurfaceMeshing, FillsASphereOfAnyResolution) {
  const TriangleMesh sphere = MakeSphereSurface(60);
  for (const double edge : {0.4, 0.25, 0.12}) {
    const auto meshed = MeshSurface(sphere, WithEdge(edge));
    ASSERT_TRUE(meshed.ok()) << meshed.status();
    EXPECT_THAT(meshed->warnings, IsEmpty());
    ExpectFills(meshed->mesh, sphere, edge);
  }
}

TEST(SurfaceMeshing, FillsALobedBody) {
  const TriangleMesh star = MakeSphereSurface(80, 1, 0.3);
  const auto meshed = MeshSurface(star, WithEdge(0.12));
  ASSERT_TRUE(meshed.ok()) << meshed.status();
  ExpectFills(meshed->mesh, star, 0.12);
}

TEST(SurfaceMeshing, KeepsSharpEdgesOfABoxWithinATenthOfAnEdge) {
  const Vector3d size(1, 0.7, 0.4);
  const TriangleMesh box = MakeBoxSurface(size);
  for (const double edge : {0.13, 0.1, 0.071}) {
    const auto meshed = MeshSurface(box, WithEdge(edge));
    ASSERT_TRUE(meshed.ok()) << meshed.status();
    ExpectFills(meshed->mesh, box, edge);
    const TriangleMesh surface = SurfaceOf(meshed->mesh);
    for (int i = 0; i < 4; ++i) {
      const Vector3d a = box.vertices[i], b = box.vertices[(i + 1) % 4], c = box.vertices[4 + i],
                     d = box.vertices[4 + (i + 1) % 4];
      EXPECT_LE(CalcDistanceOfSegment(a, b, surface), edge / 10);
      EXPECT_LE(CalcDistanceOfSegment(c, d, surface), edge / 10);
      EXPECT_LE(CalcDistanceOfSegment(a, c, surface), edge / 10);
    }
  }
}

TEST(SurfaceMeshing, KeepsConvexAndReflexEdgesOfABracket) {
  const std::vector<Eigen::Vector2d> outline = MakeBracket();
  const TriangleMesh bracket = MakePrismSurface(outline, 0, 1);
  const double edge = 0.2;
  const auto meshed = MeshSurface(bracket, WithEdge(edge));
  ASSERT_TRUE(meshed.ok()) << meshed.status();
  ExpectFills(meshed->mesh, bracket, edge);
  const TriangleMesh surface = SurfaceOf(meshed->mesh);
  const int n = static_cast<int>(outline.size());
  for (int i = 0; i < n; ++i) {
    EXPECT_LE(CalcDistanceOfSegment(bracket.vertices[i], bracket.vertices[n + i], surface),
              edge / 10);
    EXPECT_LE(CalcDistanceOfSegment(bracket.vertices[i], bracket.vertices[(i + 1) % n], surface),
              edge / 10);
  }
}

TEST(SurfaceMeshing, AnglesBelowTheSharpOneAreNoEdges) {
  // with an angle that no edge of the box exceeds, its edges are cut off somewhere
  SurfaceMeshing options = WithEdge(0.13);
  options.sharp_angle = 100 * kPi / 180;
  const TriangleMesh box = MakeBoxSurface({1, 0.7, 0.4});
  const auto meshed = MeshSurface(box, options);
  ASSERT_TRUE(meshed.ok()) << meshed.status();
  EXPECT_GT(CalcDistanceOfSegment(box.vertices[0], box.vertices[1], SurfaceOf(meshed->mesh)),
            0.013);
}

TEST(SurfaceMeshing, HasTheSameBitsForOneAndTwoThreads) {
  const TriangleMesh star = MakeSphereSurface(60, 1, 0.3);
  SurfaceMeshing options = WithEdge(0.15);
  for (const bool refine : {false, true}) {
    options.refine = refine;
    ExpectSameBitsForOneAndTwoThreads(star, options);
  }
}

TEST(SurfaceMeshing, RefineShortensEdgesInThinParts) {
  // a block with a fin half an edge thin
  TriangleMesh part =
      MakePrismSurface({{0, 0}, {1.8, 0}, {1.8, 0.1}, {1, 0.1}, {1, 1}, {0, 1}}, 0, 1);
  SurfaceMeshing options = WithEdge(0.2);
  const auto coarse = MeshSurface(part, options);
  ASSERT_TRUE(coarse.ok()) << coarse.status();
  EXPECT_THAT(coarse->warnings, Contains(HasSubstr("thinner than its edge length")));
  EXPECT_THAT(coarse->warnings, Contains(HasSubstr("refine: true")));
  options.refine = true;
  const auto fine = MeshSurface(part, options);
  ASSERT_TRUE(fine.ok()) << fine.status();
  EXPECT_THAT(fine->warnings, Not(Contains(HasSubstr("thinner"))));
  EXPECT_GT(fine->mesh.tetrahedra.size(), coarse->mesh.tetrahedra.size());
  EXPECT_GE(fine->min_dihedral, kTenDegrees);
  EXPECT_NEAR(CalcVolume(fine->mesh) / CalcEnclosedVolume(part), 1, 0.01);
  EXPECT_LE(CalcHausdorffDistance(part, SurfaceOf(fine->mesh), 0.05), 0.05);
}

TEST(SurfaceMeshing, EdgesAreShortenedOnlyUpToTheirLimit) {
  // a hole no wider than an edge asks for shorter ones
  const TriangleMesh plate =
      MakeDrilledPrism({{0, 0}, {2, 0}, {2, 2}, {0, 2}}, 1, {1, 1}, 0.11, 24, 0, 0.5);
  SurfaceMeshing options = WithEdge(0.2);
  const auto free = MeshSurface(plate, options);
  options.max_refined = 1;
  const auto even = MeshSurface(plate, options);
  ASSERT_TRUE(free.ok() && even.ok());
  const double many = static_cast<double>(free->mesh.tetrahedra.size());
  const double few = static_cast<double>(even->mesh.tetrahedra.size());
  ASSERT_GT(many, 1.05 * few);
  options.max_refined = 0.5 * (few + many);
  for (const bool refine : {false, true}) {
    options.refine = refine;
    const auto some = MeshSurface(plate, options);
    ASSERT_TRUE(some.ok()) << some.status();
    // improvement changes the number of tetrahedra slightly
    EXPECT_LE(static_cast<double>(some->mesh.tetrahedra.size()), 1.01 * options.max_refined);
    EXPECT_THAT(FindDefects(some->mesh), IsEmpty());
    EXPECT_GE(some->min_dihedral, kTenDegrees);
  }
}

TEST(SurfaceMeshing, ABodyThinnerThanItsEdgeNamesTheOneThatWouldDo) {
  const TriangleMesh sheet = MakeBoxSurface({1, 1, 0.02});
  const auto meshed = MeshSurface(sheet, WithEdge(0.1));
  std::string advice;
  if (meshed.ok()) {
    for (const std::string& warning : meshed->warnings) advice += warning;
  } else {
    advice = std::string(meshed.status().message());
  }
  EXPECT_THAT(advice, HasSubstr("0.028"));  // 0.02 / 0.7
  SurfaceMeshing options = WithEdge(0.028);
  const auto finer = MeshSurface(sheet, options);
  ASSERT_TRUE(finer.ok()) << finer.status();
  ExpectFills(finer->mesh, sheet, 0.028);
}

TEST(SurfaceMeshing, ClosesAnOpenSurface) {
  TriangleMesh sphere = MakeSphereSurface(40);
  // a hole of a row around the pole
  std::erase_if(sphere.triangles, [&](const std::array<int, 3>& t) {
    return sphere.vertices[t[0]].z() > 0.97 && sphere.vertices[t[1]].z() > 0.97 &&
           sphere.vertices[t[2]].z() > 0.97;
  });
  const auto meshed = MeshSurface(sphere, WithEdge(0.2));
  ASSERT_TRUE(meshed.ok()) << meshed.status();
  EXPECT_THAT(meshed->warnings, Contains(HasSubstr("closed by winding number")));
  EXPECT_GE(meshed->min_dihedral, kTenDegrees);
  EXPECT_NEAR(CalcVolume(meshed->mesh), 4 * kPi / 3, 0.02 * 4 * kPi / 3);
}

// The lattice is refined again and again, and its edges change their length everywhere.
TEST(SurfaceMeshing, FillsTrianglesInDisorderWithSoundTetrahedra) {
  TriangleMesh disorder;
  std::uint64_t state = 3;
  const auto draw = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  constexpr int kTriangles = 30;
  for (int i = 0; i < 3 * kTriangles; ++i) {
    const double x = draw(), y = draw(), z = draw();
    disorder.vertices.emplace_back(x, y, z);
  }
  for (int i = 0; i < kTriangles; ++i) disorder.triangles.push_back({3 * i, 3 * i + 1, 3 * i + 2});
  const auto meshed = MeshSurface(disorder, WithEdge(0.08));
  ASSERT_TRUE(meshed.ok()) << meshed.status();
  EXPECT_GE(meshed->min_dihedral, kTenDegrees);
}

TEST(SurfaceMeshing, TurnsInvertedSurfaces) {
  const TriangleMesh sphere = MakeSphereSurface(40);
  TriangleMesh inverted, mixed = sphere;
  AddSurface(sphere, Vector3d::Zero(), true, &inverted);
  for (std::size_t i = 0; i < mixed.triangles.size(); i += 3)
    std::swap(mixed.triangles[i][0], mixed.triangles[i][1]);
  const auto straight = MeshSurface(sphere, WithEdge(0.2));
  for (const TriangleMesh& given : {inverted, mixed}) {
    const auto meshed = MeshSurface(given, WithEdge(0.2));
    ASSERT_TRUE(meshed.ok()) << meshed.status();
    EXPECT_THAT(meshed->warnings, Contains(HasSubstr("turned")));
    ExpectFills(meshed->mesh, sphere, 0.2);
  }
}

TEST(SurfaceMeshing, UnitesShellsThatIntersect) {
  const TriangleMesh sphere = MakeSphereSurface(40);
  TriangleMesh two = sphere;
  AddSurface(sphere, {0.9, 0, 0}, false, &two);
  const auto meshed = MeshSurface(two, WithEdge(0.2));
  ASSERT_TRUE(meshed.ok()) << meshed.status();
  EXPECT_THAT(meshed->warnings, Contains(HasSubstr("meets or holds itself")));
  EXPECT_GE(meshed->min_dihedral, kTenDegrees);
  // two balls less the lens between them: π (4 + d)(2 − d)² / 12
  const double lens = kPi * (4 + 0.9) * (2 - 0.9) * (2 - 0.9) / 12;
  EXPECT_NEAR(CalcVolume(meshed->mesh), 8 * kPi / 3 - lens, 0.01 * 8 * kPi / 3);
}

TEST(SurfaceMeshing, KeepsCavitiesAndSeparateShells) {
  TriangleMesh shells = MakeSphereSurface(40);
  AddSurface(MakeSphereSurface(30, 0.5), Vector3d::Zero(), true, &shells);  // a cavity
  AddSurface(MakeSphereSurface(30, 0.6), {2, 0, 0}, true, &shells);         // beside, inverted
  const auto meshed = MeshSurface(shells, WithEdge(0.15));
  ASSERT_TRUE(meshed.ok()) << meshed.status();
  const double expected = 4 * kPi / 3 * (1 - 0.125 + 0.216);
  EXPECT_NEAR(CalcVolume(meshed->mesh), expected, 0.01 * expected);
  EXPECT_GE(meshed->min_dihedral, kTenDegrees);
}

TEST(SurfaceMeshing, RefusesWhatHasNoInside) {
  const auto message = [](TriangleMesh mesh, double edge = 0.2) {
    const auto meshed = MeshSurface(std::move(mesh), WithEdge(edge));
    EXPECT_EQ(meshed.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(meshed.status().message());
  };
  EXPECT_THAT(message({}), HasSubstr("no triangle"));
  TriangleMesh flat;
  flat.vertices = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  flat.triangles = {{0, 1, 2}, {0, 2, 3}};
  EXPECT_THAT(message(flat), HasSubstr("encloses nothing"));
  TriangleMesh broken = MakeSphereSurface(10);
  broken.vertices[7].y() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message(broken), HasSubstr("vertex 7 is not finite"));
  broken.vertices[7].y() = std::numeric_limits<double>::infinity();
  EXPECT_THAT(message(broken), HasSubstr("vertex 7 is not finite"));
  broken = MakeSphereSurface(10);
  broken.triangles[3][1] = 100000;
  EXPECT_THAT(message(broken), HasSubstr("vertex 100000"));
  EXPECT_THAT(message(MakeSphereSurface(10), 0), HasSubstr("edge_length"));
  EXPECT_THAT(message(MakeSphereSurface(10), 1e-6), HasSubstr("Use a longer edge"));
  EXPECT_THAT(message(MakeSphereSurface(10), 0.005), HasSubstr("Use a longer edge"));
}

TEST(SurfaceMeshing, ReportsProgressAndCanBeCancelled) {
  const TriangleMesh sphere = MakeSphereSurface(40);
  SurfaceMeshing options = WithEdge(0.1);
  std::vector<double> shares;
  options.progress = [&](double share) {
    shares.push_back(share);
    return true;
  };
  ASSERT_TRUE(MeshSurface(sphere, options).ok());
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1);
  EXPECT_GE(shares.size(), 6u);
  for (std::size_t stop = 0; stop < shares.size(); ++stop) {
    std::size_t calls = 0;
    options.progress = [&](double) { return calls++ < stop; };
    EXPECT_EQ(MeshSurface(sphere, options).status().code(), absl::StatusCode::kCancelled) << stop;
    EXPECT_EQ(calls, stop + 1);
  }
}

}  // namespace
}  // namespace pliant::physics
