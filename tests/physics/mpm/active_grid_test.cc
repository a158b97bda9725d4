// Grid nodes that carry particles, compared with a brute-force search.

#include "physics/mpm/active_grid.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "physics/mpm/kernel.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kEdge = 0.1;

std::vector<double> DrawPositions(int count, double size, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> in(-size, size);
  std::vector<double> positions(3 * static_cast<std::size_t>(count));
  for (double& x : positions) x = in(random);
  return positions;
}

Vector3d PointAt(const std::vector<double>& positions, int i) {
  return {positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]};
}

TEST(Kernel, ReproducesLinearFieldsAndTheirGradients) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> in(-1, 1);
  Eigen::Matrix3d slope;
  for (int k = 0; k < 9; ++k) slope(k / 3, k % 3) = in(random);
  const Vector3d at_origin(in(random), in(random), in(random));
  for (int trial = 0; trial < 100; ++trial) {
    const Vector3d x(in(random), in(random), in(random));
    const GridIndex cell = FindCell(x, kEdge);
    const Kernel kernel(x, cell, kEdge);
    NodeVectors values;
    double sum = 0;
    for (int a = 0; a < kKernelNodes; ++a) {
      const Vector3d node = kEdge * Vector3d(cell[0] + a / 9, cell[1] + a / 3 % 3, cell[2] + a % 3);
      EXPECT_NEAR(
          (node - x - Vector3d(kernel.arm[0][a], kernel.arm[1][a], kernel.arm[2][a])).norm(), 0,
          1e-15);
      const Vector3d value = at_origin + slope * node;
      for (int r = 0; r < 3; ++r) values.of[r][a] = value[r];
      EXPECT_GE(kernel.w[a], 0);
      sum += kernel.w[a];
    }
    EXPECT_NEAR(sum, 1, 1e-14);
    EXPECT_NEAR((Interpolate(kernel, values) - at_origin - slope * x).norm(), 0, 1e-14);
    EXPECT_NEAR((InterpolateGradient(kernel, values) - slope).norm(), 0, 1e-12);
    EXPECT_NEAR((InterpolateAffine(kernel, values, kEdge) - slope).norm(), 0, 1e-12);
  }
}

TEST(ActiveGrid, HasExactlyTheNodesThatKernelsReach) {
  ActiveGrid grid;
  for (const int count : {1, 7, 300}) {
    const std::vector<double> positions = DrawPositions(count, 0.6, count);
    std::vector<char> is_active(count, 1);
    if (count > 1) is_active[1] = 0;
    ASSERT_TRUE(grid.Build(positions, is_active, kEdge, 1'000'000).ok());
    std::set<GridIndex> expected;
    for (int i = 0; i < count; ++i) {
      if (!is_active[i]) continue;
      const GridIndex cell = FindCell(PointAt(positions, i), kEdge);
      for (int a = 0; a < kKernelNodes; ++a)
        expected.insert({cell[0] + a / 9, cell[1] + a / 3 % 3, cell[2] + a % 3});
    }
    ASSERT_EQ(grid.num_nodes(), static_cast<int>(expected.size()));
    int number = 0;
    for (const GridIndex& index : expected) {
      EXPECT_EQ(grid.pattern().nodes()[number], index);
      EXPECT_EQ(grid.pattern().FindNodesFrom(index)[0], number++);
    }
    EXPECT_EQ(grid.pattern().FindNodesFrom({100, 0, 0})[0], -1);
    std::vector<int> seen;
    for (const ActiveGrid::Cell& cell : grid.cells()) {
      for (int a = 0; a < kKernelNodes; ++a) {
        const GridIndex index{cell.index[0] + a / 9, cell.index[1] + a / 3 % 3,
                              cell.index[2] + a % 3};
        EXPECT_EQ(cell.nodes[a], grid.pattern().FindNodesFrom(index)[0]);
      }
      for (int i = cell.first; i < cell.first + cell.count; ++i) {
        seen.push_back(grid.points()[i]);
        EXPECT_EQ(FindCell(PointAt(positions, seen.back()), kEdge), cell.index);
      }
    }
    std::ranges::sort(seen);
    std::vector<int> active;
    for (int i = 0; i < count; ++i)
      if (is_active[i]) active.push_back(i);
    EXPECT_EQ(seen, active);
  }
}

TEST(ActiveGrid, KnowsWhetherItsCellsStay) {
  ActiveGrid grid;
  std::vector<double> positions = DrawPositions(50, 0.6, 3);
  const std::vector<char> is_active(50, 1);
  ASSERT_TRUE(grid.Build(positions, is_active, kEdge, 10000).ok());
  EXPECT_FALSE(grid.is_unchanged());
  ASSERT_TRUE(grid.Build(positions, is_active, kEdge, 10000).ok());
  EXPECT_TRUE(grid.is_unchanged());
  positions[0] += 2 * kEdge;
  ASSERT_TRUE(grid.Build(positions, is_active, kEdge, 10000).ok());
  EXPECT_FALSE(grid.is_unchanged());
}

TEST(ActiveGrid, RefusesWhatItCannotHold) {
  ActiveGrid grid;
  const std::vector<char> is_active(1, 1);
  const absl::Status many = grid.Build(std::vector<double>{0, 0, 0}, is_active, kEdge, 26);
  EXPECT_NE(many.message().find("27 nodes"), std::string::npos) << many;
  EXPECT_FALSE(grid.Build(std::vector<double>{1e6, 0, 0}, is_active, kEdge, 100).ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(grid.Build(std::vector<double>{nan, 0, 0}, is_active, kEdge, 100).ok());
  EXPECT_TRUE(grid.Build(std::vector<double>{0, 0, 0}, is_active, kEdge, 27).ok());
}

}  // namespace
}  // namespace pliant::physics
