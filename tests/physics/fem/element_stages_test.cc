#include "physics/fem/element_stages.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "physics/fem/fem_model.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/execute_on_threads.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

FemParameters MakeBox(double edge) {
  FemParameters parameters;
  parameters.mesh = *MeshBox({1, 1, 1}, edge);
  parameters.materials = {{FindMaterial("LINEAR_COROTATIONAL"), {1e5, 0.35}, 1000}};
  return parameters;
}

TEST(ElementStages, HoldEveryBatchOnceAndNeverShareANodeWithinAStage) {
  const FemParameters parameters = MakeBox(1.0 / 12);
  const ElementBatches elements = MakeElementBatches(parameters);
  const int count = static_cast<int>(elements.batches.size());
  const ElementStages stages(elements.batches, count,
                             static_cast<int>(parameters.mesh.vertices.size()));
  EXPECT_GT(stages.num_stages(), 1);
  // the stretches of a stage run in parallel, so some stage must have several
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

// Velocities after one step of a large body, some of whose elements are inverted.
std::vector<double> StepLargeBody(int threads) {
  const auto block = MakeFemBlock(MakeBox(1.0 / 12));
  std::vector<double> q(block->num_positions()), v(block->num_velocities());
  block->SetInitialState({q, v});
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-0.04, 0.04);
  for (double& x : q) x += uniform(random);
  const auto step = block->NewStep();
  ExecuteOnThreads(threads, [&] {
    EXPECT_TRUE(PoseBlock(*step, {0.01, 1, 1, {0, 0, -9.81}}, q, v, {}).ok());
    EXPECT_TRUE(step->Factor({}).ok());
    step->CalcFreeMotion(v);
  });
  return v;
}

TEST(ElementStages, MakeAStepOfALargeBodyTheSameForAnyNumberOfThreads) {
  const std::vector<double> one = StepLargeBody(1);
  EXPECT_EQ(one, StepLargeBody(2));
  EXPECT_EQ(one, StepLargeBody(5));
}

}  // namespace
}  // namespace pliant::physics
