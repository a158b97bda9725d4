#include "physics/fem/element_stages.h"

#include <set>

#include <gtest/gtest.h>

#include "physics/fem/fem_model.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"

namespace pliant::physics {
namespace {

FemParameters MakeBox(double edge) {
  FemParameters parameters;
  parameters.mesh = *MeshBox({1, 1, 1}, edge);
  return parameters;
}

TEST(ElementStages, HoldEveryBatchOnceAndNeverShareANodeWithinAStage) {
  const FemParameters parameters = MakeBox(1.0 / 16);
  const ElementBatches elements = MakeElementBatches(parameters);
  const int count = static_cast<int>(elements.batches.size());
  const ElementStages stages(elements.batches, count,
                             static_cast<int>(parameters.mesh.vertices.size()));
  EXPECT_GT(stages.num_stages(), 1);
  // some stage has several stretches, or nothing is gained
  EXPECT_GT(stages.num_stretches(), 2 * stages.num_stages());
  std::vector<int> seen(count, 0);
  for (int stage = 0; stage < stages.num_stages(); ++stage) {
    std::set<int> taken;
    for (const ElementStages::Stretch& stretch : stages.stretches(stage)) {
      std::set<int> nodes;
      for (int b = stretch.begin; b < stretch.end; ++b) {
        ++seen[b];
        for (const auto& of_lane : elements.batches[b].nodes)
          nodes.insert(of_lane.begin(), of_lane.end());
      }
      for (const int node : nodes) EXPECT_TRUE(taken.insert(node).second);
    }
  }
  EXPECT_EQ(seen, std::vector<int>(count, 1));
}

TEST(ElementStages, OfAFewElementsAreOne) {
  const FemParameters parameters = MakeBox(0.25);
  const ElementBatches elements = MakeElementBatches(parameters);
  const ElementStages stages(elements.batches, static_cast<int>(elements.batches.size()),
                             static_cast<int>(parameters.mesh.vertices.size()));
  EXPECT_EQ(stages.num_stages(), 1);
  EXPECT_EQ(stages.num_stretches(), 1);
}

}  // namespace
}  // namespace pliant::physics
