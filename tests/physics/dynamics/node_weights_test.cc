#include "physics/dynamics/abilities/node_weights.h"

#include <vector>

#include <gtest/gtest.h>

#include "physics/dynamics/contact_point.h"

namespace pliant::physics {
namespace {

NodeWeights MakeNodes(int count) {
  NodeWeights nodes;
  for (int k = 0; k < count; ++k) nodes.Add(10 + k, 0.5 * k);
  return nodes;
}

TEST(NodeWeights, CopiesAndMovesKeepWhatWasAdded) {
  for (const int count : {0, 1, 4, 5, 27, 100}) {
    const NodeWeights nodes = MakeNodes(count);
    ASSERT_EQ(nodes.size(), count);
    for (int k = 0; k < count; ++k) {
      EXPECT_EQ(nodes.node(k), 10 + k);
      EXPECT_EQ(nodes.weight(k), 0.5 * k);
    }
    // assign to objects of every size
    for (const int other : {0, 3, 4, 5, 40}) {
      NodeWeights copied = MakeNodes(other), moved = MakeNodes(other), source = nodes;
      copied = nodes;
      moved = std::move(source);
      EXPECT_EQ(copied, nodes) << count << " " << other;
      EXPECT_EQ(moved, nodes) << count << " " << other;
      copied.Add(7, 7);
      EXPECT_EQ(copied.size(), count + 1);
      EXPECT_EQ(nodes.size(), count);
    }
  }
}

TEST(NodeWeights, AreContiguousHoweverMany) {
  for (const int count : {4, 27}) {
    const NodeWeights nodes = MakeNodes(count);
    EXPECT_EQ(&nodes.nodes().back() - &nodes.nodes().front(), count - 1);
    EXPECT_EQ(&nodes.weights().back() - &nodes.weights().front(), count - 1);
  }
}

// Rigid and FEM contacts are as small as with four fixed nodes: 376 bytes a contact, and 16 for the
// friction at rest and at speed.
TEST(NodeWeights, DoNotMakeContactsLarger) {
  EXPECT_LE(sizeof(NodeWeights), 56u);
  EXPECT_LE(sizeof(ContactPoint), 392u);
}

}  // namespace
}  // namespace pliant::physics
