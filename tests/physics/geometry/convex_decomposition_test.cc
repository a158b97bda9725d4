#include "physics/geometry/convex_decomposition.h"

#include <cmath>
#include <cstdint>
#include <utility>

#include "gtest/gtest.h"

#include "physics/geometry/convex_polyhedron.h"
#include "physics/geometry/triangle_bvh.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Solid of revolution of a closed profile (counter-clockwise in x, z) about the z axis.
TriangleMesh Revolve(const std::vector<std::pair<double, double>>& profile, int turns) {
  TriangleMesh mesh;
  const int n = static_cast<int>(profile.size());
  std::vector<std::vector<int>> rings(profile.size());
  for (int i = 0; i < n; ++i) {
    const auto& [r, z] = profile[i];
    for (int k = 0; k < turns; ++k) {
      if (r == 0 && k > 0) {
        rings[i].push_back(rings[i][0]);
        continue;
      }
      const SinCos angle = CalcSinCos(2 * kPi * k / turns);
      rings[i].push_back(static_cast<int>(mesh.vertices.size()));
      mesh.vertices.push_back({r * angle.cos, r * angle.sin, z});
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < turns; ++k) {
      const int a = rings[i][k], b = rings[(i + 1) % n][k];
      const int c = rings[(i + 1) % n][(k + 1) % turns], d = rings[i][(k + 1) % turns];
      if (a != d) mesh.triangles.push_back({a, d, c});
      if (b != c) mesh.triangles.push_back({a, c, b});
    }
  }
  return mesh;
}

TriangleMesh MakeTorus(double ring, double tube) {
  std::vector<std::pair<double, double>> profile;
  for (int i = 0; i < 24; ++i) {
    const SinCos angle = CalcSinCos(2 * kPi * i / 24);
    profile.push_back({ring + tube * angle.cos, tube * angle.sin});
  }
  return Revolve(profile, 48);
}

// A hemispherical bowl with a wall, open at the top.
TriangleMesh MakeBowl(double outer, double inner) {
  std::vector<std::pair<double, double>> profile;
  for (int i = 0; i <= 12; ++i) {
    const SinCos angle = CalcSinCos(kPi / 24 * i);
    profile.push_back({i == 0 ? 0 : outer * angle.sin, -outer * angle.cos});
  }
  for (int i = 12; i >= 0; --i) {
    const SinCos angle = CalcSinCos(kPi / 24 * i);
    profile.push_back({i == 0 ? 0 : inner * angle.sin, -inner * angle.cos});
  }
  profile[12].second = profile[13].second = 0;
  return Revolve(profile, 48);
}

// An L of bars of width 1: [0, 3] × [0, 1] and [0, 1] × [0, 3], of depth 1.
TriangleMesh MakeL() {
  TriangleMesh mesh;
  const double outline[6][2] = {{0, 0}, {3, 0}, {3, 1}, {1, 1}, {1, 3}, {0, 3}};
  for (const double z : {0.0, 1.0}) {
    for (const auto& p : outline) mesh.vertices.push_back({p[0], p[1], z});
  }
  // a fan about the inner corner, from which the whole outline is visible
  const int fan[4][3] = {{3, 0, 1}, {3, 1, 2}, {3, 4, 5}, {3, 5, 0}};
  for (const auto& t : fan) {
    mesh.triangles.push_back({t[2], t[1], t[0]});
    mesh.triangles.push_back({6 + t[0], 6 + t[1], 6 + t[2]});
  }
  for (int i = 0; i < 6; ++i) {
    const int j = (i + 1) % 6;
    mesh.triangles.push_back({i, j, 6 + j});
    mesh.triangles.push_back({i, 6 + j, 6 + i});
  }
  return mesh;
}

double CalcMeshVolume(const TriangleMesh& mesh) {
  double six = 0;
  for (const auto& t : mesh.triangles)
    six += mesh.vertices[t[0]].dot(mesh.vertices[t[1]].cross(mesh.vertices[t[2]]));
  return six / 6;
}

bool IsIn(const ConvexPolyhedron& hull, const Vector3d& p, double tolerance) {
  for (int f = 0; f < hull.num_faces(); ++f) {
    if (hull.normals[f].dot(p - hull.vertices[hull.face(f)[0]]) > tolerance) return false;
  }
  return true;
}

struct Coverage {
  int inside = 0;     // samples inside the solid
  int uncovered = 0;  // of these, in no piece
  int outside = 0;    // samples outside the solid, within its bounds
  int claimed = 0;    // of these, in a piece
};

Coverage Sample(const TriangleMesh& mesh, const ConvexDecomposition& parts) {
  std::vector<ConvexPolyhedron> hulls;
  for (const TriangleMesh& piece : parts.pieces) hulls.push_back(MakeHullPolyhedron(piece));
  const TriangleBvh bvh(mesh);
  const AxisAlignedBox box = bvh.bounds();
  const Vector3d size = box.upper - box.lower;
  Coverage coverage;
  // the additive sequence R3, from the root of x⁴ = x + 1, fills the box evenly
  for (int i = 1; i <= 8000; ++i) {
    const Vector3d t(0.8191725134 * i, 0.6710436067 * i, 0.5497004779 * i);
    const Vector3d p = box.lower + (t.array() - t.array().floor()).matrix().cwiseProduct(size);
    const double distance = bvh.CalcSignedDistance(PositionsOf(mesh), p).distance;
    bool covered = false;
    for (const ConvexPolyhedron& hull : hulls)
      covered = covered || IsIn(hull, p, 1e-6 * size.norm());
    if (distance < 0) {
      ++coverage.inside;
      coverage.uncovered += !covered;
    } else {
      ++coverage.outside;
      coverage.claimed += covered;
    }
  }
  return coverage;
}

TEST(ConvexDecomposition, AnLIsTwoBars) {
  const TriangleMesh mesh = MakeL();
  const auto parts = DecomposeConvex(mesh);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(parts->pieces.size(), 2u);
  EXPECT_NEAR(parts->volume, 5, 1e-12);
  // a cut along a face of the notch is exact; a single hull would be 2/5 too large
  EXPECT_NEAR(parts->excess, 0, 1e-9);
  EXPECT_EQ(Sample(mesh, *parts).uncovered, 0);
}

TEST(ConvexDecomposition, AConvexSolidStaysOnePiece) {
  const TriangleMesh mesh = Revolve({{0, -1}, {1, -1}, {1, 1}, {0, 1}}, 24);
  const auto parts = DecomposeConvex(mesh);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(parts->pieces.size(), 1u);
  EXPECT_NEAR(parts->excess, 0, 1e-9);
}

TEST(ConvexDecomposition, ATorusKeepsItsHole) {
  const TriangleMesh mesh = MakeTorus(1, 0.3);
  const auto parts = DecomposeConvex(mesh, {.tolerance = 0.1});
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_LE(parts->pieces.size(), 32u);
  EXPECT_NEAR(parts->volume, CalcMeshVolume(mesh), 1e-9);
  // a single hull would be 48 % too large
  EXPECT_LE(parts->excess, 0.1);
  const Coverage coverage = Sample(mesh, *parts);
  EXPECT_EQ(coverage.uncovered, 0);
  // the excess, estimated from samples in pieces but outside the solid
  EXPECT_LE(coverage.claimed, 0.11 * coverage.inside);
  for (const TriangleMesh& piece : parts->pieces) {
    const ConvexPolyhedron hull = MakeHullPolyhedron(piece);
    EXPECT_FALSE(IsIn(hull, Vector3d::Zero(), 0));
  }
}

TEST(ConvexDecomposition, ABowlStaysHollow) {
  const TriangleMesh mesh = MakeBowl(1, 0.8);
  const auto parts = DecomposeConvex(mesh, {.tolerance = 0.1});
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_LE(parts->pieces.size(), 32u);
  EXPECT_NEAR(parts->volume, CalcMeshVolume(mesh), 1e-9);
  // a single hull would be more than twice the wall
  EXPECT_LE(parts->excess, 0.25);
  const Coverage coverage = Sample(mesh, *parts);
  EXPECT_EQ(coverage.uncovered, 0);
  const Vector3d middle(0, 0, -0.3);
  for (const TriangleMesh& piece : parts->pieces)
    EXPECT_FALSE(IsIn(MakeHullPolyhedron(piece), middle, 0));
}

TEST(ConvexDecomposition, SeparateSolidsAreSeparatePieces) {
  TriangleMesh mesh = Revolve({{0, -1}, {1, -1}, {1, 1}, {0, 1}}, 12);
  const TriangleMesh other = mesh;
  const int first = static_cast<int>(mesh.vertices.size());
  for (const Vector3d& p : other.vertices) mesh.vertices.push_back(p + Vector3d(5, 0, 0));
  for (const auto& t : other.triangles)
    mesh.triangles.push_back({first + t[0], first + t[1], first + t[2]});
  const auto parts = DecomposeConvex(mesh);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(parts->pieces.size(), 2u);
  EXPECT_NEAR(parts->excess, 0, 1e-9);
}

TEST(ConvexDecomposition, MorePiecesFitCloser) {
  const TriangleMesh mesh = MakeTorus(1, 0.3);
  double before = 1e9;
  for (const int pieces : {1, 4, 8, 16, 32}) {
    const auto parts = DecomposeConvex(mesh, {.tolerance = 0, .max_pieces = pieces});
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_LE(static_cast<int>(parts->pieces.size()), pieces);
    EXPECT_LT(parts->excess, before);
    before = parts->excess;
  }
  EXPECT_LT(before, 0.05);
}

TEST(ConvexDecomposition, IsTheSameEveryTime) {
  const TriangleMesh mesh = MakeBowl(1, 0.8);
  const auto a = DecomposeConvex(mesh), b = DecomposeConvex(mesh);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_EQ(a->pieces.size(), b->pieces.size());
  for (std::size_t i = 0; i < a->pieces.size(); ++i) {
    EXPECT_EQ(a->pieces[i].vertices, b->pieces[i].vertices);
    EXPECT_EQ(a->pieces[i].triangles, b->pieces[i].triangles);
  }
}

TEST(ConvexDecomposition, RefusesWhatEnclosesNothing) {
  TriangleMesh mesh;
  EXPECT_FALSE(DecomposeConvex(mesh).ok());
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  mesh.triangles = {{0, 1, 2}, {0, 2, 1}};
  EXPECT_FALSE(DecomposeConvex(mesh).ok());
}

}  // namespace
}  // namespace pliant::physics
