#include "physics/geometry/meshing/surface/surface_region.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

#include "physics/geometry/meshing/surface/winding_number.h"
#include "tests/physics/geometry/meshing/surface/sample_surfaces.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Compares with the winding number, in random points and in those of a grid, many of which lie on
// the surface's planes or in line with its edges and corners.
void ExpectInsideByWindingNumber(const TriangleMesh& surface) {
  const auto region = SurfaceRegion::Make(surface);
  ASSERT_TRUE(region.ok()) << region.status();
  ASSERT_TRUE(region->closed());
  const WindingNumber winding(region->mesh());
  int compared = 0, inside = 0;
  const auto compare = [&](const Vector3d& p) {
    const double expected = winding.Calc(p);
    // on the surface, and where the error of the dipoles decides
    if (std::abs(expected - std::round(expected)) > 0.2) return;
    EXPECT_EQ(region->IsInside(p), expected > 0.5) << p.transpose();
    ++compared;
    inside += expected > 0.5;
  };
  std::mt19937 random(1);
  std::uniform_real_distribution<double> coordinate(-1.5, 1.5);
  for (int i = 0; i < 2000; ++i)
    compare({coordinate(random), coordinate(random), coordinate(random)});
  for (int i = 0; i < 13 * 13 * 13; ++i)
    compare({0.25 * (i % 13) - 1.5, 0.25 * (i / 13 % 13) - 1.5, 0.25 * (i / 169) - 1.5});
  EXPECT_GT(compared, 3000);
  EXPECT_GT(inside, 100);
}

TEST(SurfaceRegion, IsInsideAsTheWindingNumberSays) {
  ExpectInsideByWindingNumber(MakeBoxSurface({2, 1.5, 0.5}));
  ExpectInsideByWindingNumber(MakeSphereSurface(12, 1, 0.2));
  // shells that overlap, and one with a cavity
  TriangleMesh overlapping = MakeBoxSurface({1, 1, 1});
  AddSurface(MakeBoxSurface({1, 1, 1}), {0.5, 0.5, 0.25}, false, &overlapping);
  ExpectInsideByWindingNumber(overlapping);
  TriangleMesh hollow = MakeBoxSurface({2, 2, 2});
  AddSurface(MakeSphereSurface(12, 0.5), Vector3d(0.25, 0.25, 0.25), true, &hollow);
  ExpectInsideByWindingNumber(hollow);
}

}  // namespace
}  // namespace pliant::physics
