// Particles that fill solids: their positions and volumes, and points on surfaces.

#include "physics/mpm/filling/fill.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "physics/geometry/triangle_bvh.h"
#include "physics/mpm/filling/surface_points.h"
#include "physics/spatial/trig.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using Layout = FillOptions::Layout;

ParticleFill Fill(const Solid& solid, double spacing, Layout layout = Layout::kLattice,
                  std::uint64_t seed = 0) {
  FillOptions options;
  options.layout = layout;
  options.seed = seed;
  options.spacing = spacing;
  return FillSolid(solid, options).value();
}

// A box with one corner cut out, as a closed surface: 12 m³ less 1.
TriangleMesh MakeNotchedBox() {
  // profile in x and y, counter-clockwise, swept along z from 0 to 1
  const std::vector<Eigen::Vector2d> profile = {{0, 0}, {4, 0}, {4, 2}, {3, 2}, {3, 3}, {0, 3}};
  const std::vector<std::array<int, 3>> caps = {{0, 1, 2}, {0, 2, 3}, {0, 3, 5}, {3, 4, 5}};
  TriangleMesh mesh;
  for (const double z : {0.0, 1.0})
    for (const Eigen::Vector2d& p : profile) mesh.vertices.emplace_back(p.x(), p.y(), z);
  for (const auto& t : caps) {
    mesh.triangles.push_back({t[0], t[2], t[1]});
    mesh.triangles.push_back({6 + t[0], 6 + t[1], 6 + t[2]});
  }
  for (int i = 0; i < 6; ++i) {
    const int next = (i + 1) % 6;
    mesh.triangles.push_back({i, next, 6 + next});
    mesh.triangles.push_back({i, 6 + next, 6 + i});
  }
  return mesh;
}

Solid MakeSolid(TriangleMesh mesh) {
  auto shared = std::make_shared<const TriangleMesh>(std::move(mesh));
  return Solid(Geometry(SurfaceMesh{shared, std::make_shared<const TriangleBvh>(*shared)}));
}

struct NamedSolid {
  std::string name;
  Solid solid;
  double volume, area;  // [m³], [m²]
};

// Solids of about 1 m, so that a spacing of 0.1 m gives about a thousand particles.
std::vector<NamedSolid> AllSolids() {
  TriangleMesh notched = MakeNotchedBox();
  for (Vector3d& p : notched.vertices) p *= 0.4;
  std::vector<NamedSolid> all;
  all.push_back({"box", Solid(Geometry(Box{Vector3d(0.5, 0.4, 0.6)})), 0.96, 5.92});
  all.push_back({"sphere", Solid(Geometry(Sphere{0.6})), 4.0 / 3 * kPi * 0.216, 4 * kPi * 0.36});
  all.push_back({"cylinder", Solid(Geometry(Cylinder{0.5, 1.2})), kPi * 0.25 * 1.2,
                 2 * kPi * 0.25 + kPi * 1.2});
  all.push_back({"capsule", Solid(Geometry(Capsule{0.4, 1})), kPi * 0.16 + 4.0 / 3 * kPi * 0.064,
                 0.8 * kPi * 1.8});
  // area by numerical integration
  all.push_back({"ellipsoid", Solid(Geometry(Ellipsoid{Vector3d(0.4, 0.6, 0.9)})),
                 4.0 / 3 * kPi * 0.216, 4.9238});
  all.push_back(
      {"torus", Solid(Torus{0.6, 0.25}), 2 * kPi * kPi * 0.6 * 0.0625, 4 * kPi * kPi * 0.6 * 0.25});
  all.push_back({"surface", MakeSolid(notched), 11 * 0.064, (22 + 14) * 0.16});
  all.push_back({"tetrahedra", Solid(MeshBox(Vector3d(1, 0.8, 1.2), 0.4).value()), 0.96, 5.92});
  return all;
}

double FindSmallestDistance(const std::vector<Vector3d>& points) {
  double least2 = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      least2 = std::min(least2, (points[i] - points[k]).squaredNorm());
  return std::sqrt(least2);
}

TEST(ParticleFill, TheSumOfVolumesIsThatOfTheSolid) {
  for (const NamedSolid& of : AllSolids()) {
    for (const Layout layout : {Layout::kLattice, Layout::kPoissonDisk}) {
      const ParticleFill fill = Fill(of.solid, 0.1, layout);
      const double sum = fill.particle_volume * static_cast<double>(fill.positions.size());
      EXPECT_NEAR(of.solid.volume(), of.volume, 1e-12) << of.name;
      EXPECT_NEAR(sum, of.volume, 8 * 2.3e-16 * of.volume) << of.name;  // a division, a product
    }
  }
}

// A lattice cell on the surface is in or out as a whole: for convex shapes the numbers agree with
// the volume to about a fifth of the 6 N^(2/3) cells there.
TEST(ParticleFill, ParticlesAreAsManyAsTheSpacingAsksFor) {
  for (const NamedSolid& of : AllSolids()) {
    const double expected = of.volume / 1e-3;
    const auto lattice = static_cast<double>(Fill(of.solid, 0.1).positions.size());
    EXPECT_NEAR(lattice, expected, 0.12 * expected) << of.name;
    EXPECT_EQ(Fill(of.solid, 0.1, Layout::kPoissonDisk).positions.size(),
              static_cast<std::size_t>(expected + 0.5))
        << of.name;
  }
}

TEST(ParticleFill, ParticlesAreInsideAndTheirBallsTouchTheSurfaceAtMost) {
  for (const NamedSolid& of : AllSolids()) {
    for (const Layout layout : {Layout::kLattice, Layout::kPoissonDisk}) {
      const ParticleFill fill = Fill(of.solid, 0.1, layout);
      ASSERT_EQ(fill.radii.size(), fill.positions.size());
      double widest = 0;
      for (std::size_t i = 0; i < fill.positions.size(); ++i) {
        const double depth = -of.solid.CalcDistance(fill.positions[i]);
        EXPECT_GT(depth, 0) << of.name;
        EXPECT_LE(fill.radii[i], depth + 1e-15) << of.name;
        // the ball touches the surface, unless its radius is half a spacing
        if (fill.radii[i] < 0.0499) {
          EXPECT_NEAR(fill.radii[i], depth, 1e-15) << of.name;
        }
        widest = std::max(widest, fill.radii[i]);
      }
      EXPECT_NEAR(widest, 0.05, 0.008)
          << of.name;  // half of a spacing that is fitted to the bounds
    }
  }
}

TEST(ParticleFill, PoissonDisksAreSpreadEvenly) {
  for (const NamedSolid& of : AllSolids()) {
    const ParticleFill fill = Fill(of.solid, 0.1, Layout::kPoissonDisk);
    // the densest packing of as many balls has 1.12 spacings; random points come within 0.02
    EXPECT_GT(FindSmallestDistance(fill.positions), 0.06) << of.name;
    // no point of the solid is farther than 1.4 spacings from a particle
    for (int k = 0; k < 200; ++k) {
      const Vector3d unit(0.5 + 0.5 * CalcSinCos(12.9 * k).sin,
                          0.5 + 0.5 * CalcSinCos(78.2 * k).sin,
                          0.5 + 0.5 * CalcSinCos(37.7 * k).sin);
      const Vector3d p = of.solid.bounds().lower +
                         unit.cwiseProduct(of.solid.bounds().upper - of.solid.bounds().lower);
      if (of.solid.CalcDistance(p) > 0) continue;
      double nearest = 1;
      for (const Vector3d& x : fill.positions)
        nearest = std::min(nearest, std::sqrt((x - p).squaredNorm()));
      EXPECT_LT(nearest, 0.14) << of.name;
    }
  }
}

// Elimination without points around the solid leaves 38 % of them there.
TEST(ParticleFill, PoissonDisksDoNotGatherAtTheSurface) {
  const Solid box(Geometry(Box{Vector3d(0.5, 0.4, 0.6)}));
  for (const std::uint64_t seed : {0, 1, 2}) {
    const ParticleFill fill = Fill(box, 0.1, Layout::kPoissonDisk, seed);
    const auto near = std::ranges::count_if(fill.radii, [](double r) { return r < 0.05; });
    const double share = static_cast<double>(near) / static_cast<double>(fill.radii.size());
    // the volume within half a spacing; 960 random points would have it within 0.0145
    EXPECT_NEAR(share, 1 - 0.9 * 0.7 * 1.1 / 0.96, 0.03) << seed;
  }
}

TEST(ParticleFill, TheSeedDecidesWherePoissonDisksAre) {
  const Solid ball(Geometry(Sphere{0.5}));
  const ParticleFill one = Fill(ball, 0.1, Layout::kPoissonDisk, 1);
  EXPECT_EQ(one.positions, Fill(ball, 0.1, Layout::kPoissonDisk, 1).positions);
  EXPECT_NE(one.positions, Fill(ball, 0.1, Layout::kPoissonDisk, 2).positions);
}

TEST(ParticleFill, ALatticeIsFittedToTheBoxAndSymmetric) {
  // 10.4, 5.6 and 0.4 spacings: 10, 6 and 1 layers
  const Solid box(Geometry(Box{0.5 * Vector3d(1.04, 0.56, 0.04)}));
  const ParticleFill fill = Fill(box, 0.1);
  ASSERT_EQ(fill.positions.size(), 60u);
  Vector3d sum = Vector3d::Zero();
  AxisAlignedBox bounds;
  for (const Vector3d& p : fill.positions) {
    sum += p;
    bounds.Include(p);
  }
  EXPECT_LT(sum.cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_EQ(bounds.lower, -bounds.upper);
  EXPECT_NEAR(bounds.upper.x(), 0.52 - 0.052, 1e-15);
  EXPECT_NEAR(bounds.upper.y(), 0.28 - 0.28 / 6, 1e-15);
  EXPECT_EQ(bounds.upper.z(), 0);
  for (const double radius : fill.radii) EXPECT_NEAR(radius, 0.02, 1e-16);
}

// Contact visits points in chunks with a common box.
TEST(ParticleFill, ParticlesWithNearNumbersAreNear) {
  const Solid ball(Geometry(Sphere{0.6}));
  for (const Layout layout : {Layout::kLattice, Layout::kPoissonDisk}) {
    const ParticleFill fill = Fill(ball, 0.1, layout);
    double diagonals = 0;
    int chunks = 0;
    for (std::size_t first = 0; first + 32 <= fill.positions.size(); first += 32, ++chunks) {
      AxisAlignedBox box;
      for (std::size_t i = first; i < first + 32; ++i) box.Include(fill.positions[i]);
      diagonals += std::sqrt((box.upper - box.lower).squaredNorm());
    }
    // Bisection of the 12 × 12 × 12 cells numbers blocks of 3 × 3 × 6 one after the other. A chunk
    // may lie in two of them, 6 × 6 × 3 cells with a diagonal of 9 spacings; numbers along rows
    // would spread it over three rows, 12 spacings.
    EXPECT_LT(diagonals / chunks, 0.9);
  }
}

TEST(ParticleFill, ASolidThinnerThanTheSpacingMayHoldNone) {
  EXPECT_EQ(Fill(Solid(Geometry(Sphere{0.01})), 0.1).positions.size(), 1u);  // at its centre
  EXPECT_TRUE(Fill(Solid(Torus{0.5, 0.001}), 0.3).positions.empty());
}

TEST(ParticleFill, ItEndsWhenCancelled) {
  const Solid ball(Geometry(Sphere{0.6}));
  FillOptions options;
  options.spacing = 0.1;
  for (const Layout layout : {Layout::kLattice, Layout::kPoissonDisk}) {
    options.layout = layout;
    int asked = 0;
    EXPECT_TRUE(absl::IsCancelled(FillSolid(ball, options, [&] { return ++asked > 3; }).status()));
  }
}

TEST(SurfacePoints, AreOnTheSurfaceAndAboutOnePerSpacingSquared) {
  for (const NamedSolid& of : AllSolids()) {
    const std::vector<Vector3d> points = SpreadOverSurface(of.solid, 0.05);
    for (const Vector3d& p : points) EXPECT_NEAR(of.solid.CalcDistance(p), 0, 1e-14) << of.name;
    const double expected = of.area / 0.0025;
    EXPECT_NEAR(static_cast<double>(points.size()), expected, 0.06 * expected) << of.name;
    EXPECT_LE(of.area, of.solid.CalcMaxArea() * (1 + 1e-12)) << of.name;
  }
}

TEST(SurfacePoints, AreSpreadEvenly) {
  for (const NamedSolid& of : AllSolids()) {
    const std::vector<Vector3d> points = SpreadOverSurface(of.solid, 0.1);
    EXPECT_GT(FindSmallestDistance(points), 0.045) << of.name;
    // no particle near the surface is without one
    const ParticleFill fill = Fill(of.solid, 0.1);
    for (std::size_t i = 0; i < fill.positions.size(); ++i) {
      if (fill.radii[i] > 0.049) continue;
      double nearest = 1;
      for (const Vector3d& p : points)
        nearest = std::min(nearest, std::sqrt((p - fill.positions[i]).squaredNorm()));
      EXPECT_LT(nearest, 0.12) << of.name;
    }
  }
}

TEST(SurfacePoints, ABoxHasItsEdgesAndCorners) {
  const std::vector<Vector3d> points =
      SpreadOverSurface(Solid(Geometry(Box{Vector3d(0.2, 0.1, 0.3)})), 0.1);
  // 5 × 3 × 7 lattice points without the 3 × 1 × 5 inside
  EXPECT_EQ(points.size(), 90u);
  for (const double x : {-0.2, 0.2})
    for (const double y : {-0.1, 0.1})
      for (const double z : {-0.3, 0.3})
        EXPECT_EQ(std::ranges::count(points, Vector3d(x, y, z)), 1);
}

TEST(SurfacePoints, AMeshHasItsCornersAndPointsAlongSharpEdges) {
  TriangleMesh mesh = MakeNotchedBox();
  const std::vector<Vector3d> points = SpreadOverSurface(MakeSolid(mesh), 0.25);
  for (const Vector3d& corner : mesh.vertices) EXPECT_EQ(std::ranges::count(points, corner), 1);
  const auto on_edge = [](const Vector3d& p) { return p.y() == 0 && p.z() == 0; };
  EXPECT_NEAR(std::ranges::count_if(points, on_edge), 17, 2);  // 16 gaps along 4 m
  for (double x = 0; x <= 4; x += 0.1) {
    double nearest = 1;
    for (const Vector3d& p : points)
      if (on_edge(p)) nearest = std::min(nearest, std::abs(p.x() - x));
    EXPECT_LT(nearest, 0.25);
  }
}

TEST(Solid, ATorusHasTheDistanceToItsTube) {
  const Solid torus(Torus{0.5, 0.2});
  EXPECT_NEAR(torus.CalcDistance({0, 0, 0}), 0.3, 1e-15);
  EXPECT_NEAR(torus.CalcDistance({0.5, 0, 0}), -0.2, 1e-15);
  EXPECT_NEAR(torus.CalcDistance({0.3, 0.4, 0.25}), 0.05, 1e-15);
  EXPECT_EQ(torus.bounds().upper, Vector3d(0.7, 0.7, 0.2));
}

}  // namespace
}  // namespace pliant::physics
