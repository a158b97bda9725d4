#include "physics/geometry/triangle_part.h"

#include <random>

#include <gtest/gtest.h>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

TEST(TrianglePart, WholeTriangleHasItsAreaAndMiddle) {
  const TrianglePart whole;
  EXPECT_EQ(whole.CalcFraction(), 1);
  EXPECT_NEAR((whole.CalcCentroid() - Vector3d::Constant(1.0 / 3)).norm(), 0, 1e-16);
}

TEST(TrianglePart, CutParallelToAnEdgeLeavesASimilarTriangle) {
  // keep the part within 0.3 of the first vertex
  TrianglePart part;
  part.CutAbove({0, 1, 1}, 0.3);
  EXPECT_NEAR(part.CalcFraction(), 0.09, 1e-15);
  EXPECT_NEAR((part.CalcCentroid() - Vector3d(0.8, 0.1, 0.1)).norm(), 0, 1e-15);
}

TEST(TrianglePart, BothSidesOfAnyCutMakeUpTheWhole) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(-1, 1);
  for (int i = 0; i < 1000; ++i) {
    TrianglePart before;
    before.CutAbove({number(random), number(random), number(random)}, 0.2 * number(random));
    if (before.empty()) continue;
    const Vector3d values(number(random), number(random), number(random));
    const double level = 0.5 * number(random);
    TrianglePart below = before, above = before;
    below.CutAbove(values, level);
    above.CutAbove(-values, -level);
    const double of_below = below.empty() ? 0 : below.CalcFraction(),
                 of_above = above.empty() ? 0 : above.CalcFraction();
    EXPECT_NEAR(of_below + of_above, before.CalcFraction(), 1e-14);
    Vector3d moment = Vector3d::Zero();
    if (!below.empty()) moment += of_below * below.CalcCentroid();
    if (!above.empty()) moment += of_above * above.CalcCentroid();
    EXPECT_NEAR((moment - before.CalcFraction() * before.CalcCentroid()).norm(), 0, 1e-13);
    for (int c = 0; c < below.num_corners(); ++c)
      EXPECT_LE(values.dot(below.corner(c)), level + 1e-14);
  }
}

TEST(TrianglePart, CutThatLeavesOnlyAnEdgeHasNoAreaAndAFiniteMiddle) {
  TrianglePart part;
  part.CutAbove({1, 0, 0}, 0);
  if (!part.empty()) {
    EXPECT_EQ(part.CalcFraction(), 0);
    EXPECT_TRUE(part.CalcCentroid().allFinite());
  }
  part.CutAbove({1, 1, 1}, 0.5);
  EXPECT_TRUE(part.empty());
}

}  // namespace
}  // namespace pliant::physics
