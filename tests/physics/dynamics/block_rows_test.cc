#include "physics/dynamics/block_rows.h"

#include <vector>

#include <gtest/gtest.h>

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;

struct Part {
  int group;
  Matrix3d J;
};

std::vector<Part> ListParts(const BlockRows& rows) {
  std::vector<Part> parts;
  rows.ForEachPart([&](int group, int num_columns, const double* J) {
    ASSERT_EQ(num_columns, 3);
    parts.push_back({group, Eigen::Map<const Matrix3d>(J)});
  });
  return parts;
}

TEST(BlockRows, ByWeightsAreMultiplesOfTheIdentity) {
  BlockRows rows;
  rows.AppendByWeights(std::vector<int>{4, 7}, std::vector<double>{0.25, 0.75});
  EXPECT_TRUE(rows.is_by_weights());
  EXPECT_EQ(rows.weighted().groups[1], 7);
  EXPECT_EQ(rows.weighted().weights[1], 0.75);
  const std::vector<Part> parts = ListParts(rows);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].group, 4);
  EXPECT_EQ(parts[0].J, Matrix3d(0.25 * Matrix3d::Identity()));
  EXPECT_EQ(parts[1].group, 7);
  EXPECT_EQ(parts[1].J, Matrix3d(0.75 * Matrix3d::Identity()));
}

TEST(BlockRows, AreNotByWeightsAloneWhereOthersAreAdded) {
  BlockRows rows;
  rows.AppendByWeights(std::vector<int>{4}, std::vector<double>{1});
  rows.AppendByWeights(std::vector<int>{5}, std::vector<double>{2});
  EXPECT_FALSE(rows.is_by_weights());
  rows.Clear();
  rows.AppendByWeights(std::vector<int>{4}, std::vector<double>{1});
  rows.Append(3, 3)[4] = 9;
  EXPECT_FALSE(rows.is_by_weights());
  const std::vector<Part> parts = ListParts(rows);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].group, 3);
  EXPECT_EQ(parts[0].J(1, 1), 9);
  EXPECT_EQ(parts[1].group, 4);
}

// A point of the surface of particles may be far from all nodes with mass. No velocity moves it.
TEST(BlockRows, ByNoWeightsAreEmpty) {
  BlockRows rows;
  rows.AppendByWeights({}, {});
  EXPECT_TRUE(rows.empty());
  EXPECT_FALSE(rows.is_by_weights());
}

}  // namespace
}  // namespace pliant::physics
