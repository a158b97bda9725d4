#include "physics/fem/element_stages.h"

#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "physics/dynamics/abilities/force_balance.h"
#include "physics/fem/fem_model.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/execute_on_threads.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

constexpr double kFineEdge = 1.0 / 12;  // of a mesh that is large enough for threads [m]

FemParameters MakeBox(double edge, const char* material = "LINEAR_COROTATIONAL") {
  FemParameters parameters;
  parameters.mesh = *MeshBox({1, 1, 1}, edge);
  parameters.materials = {{FindMaterial(material), {1e5, 0.35}, 1000}};
  return parameters;
}

TEST(ElementStages, HoldEveryBatchOnceAndNeverShareANodeWithinAStage) {
  const FemParameters parameters = MakeBox(kFineEdge);
  const ElementBatches elements = MakeElementBatches(parameters);
  const int count = static_cast<int>(elements.batches.size());
  const ElementStages stages(elements.batches, static_cast<int>(parameters.mesh.vertices.size()));
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
  const ElementStages stages(elements.batches, static_cast<int>(parameters.mesh.vertices.size()));
  EXPECT_EQ(stages.num_stages(), 1);
  EXPECT_EQ(stages.num_stretches(), 1);
}

// A large body with positions moved at random, so that some of its elements are inverted.
struct LargeBody {
  explicit LargeBody(FemParameters parameters) : block(MakeFemBlock(std::move(parameters))) {
    q.resize(block->num_positions());
    v.resize(block->num_velocities());
    block->SetInitialState({q, v});
    std::mt19937 random(5);
    std::uniform_real_distribution<double> uniform(-0.04, 0.04);
    for (double& x : q) x += uniform(random);
    for (double& x : v) x += uniform(random);
  }
  std::shared_ptr<const DynamicsBlock> block;
  std::vector<double> q, v;
};

std::vector<double> StepLargeBody(const char* material, int threads) {
  LargeBody body(MakeBox(kFineEdge, material));
  const auto step = body.block->NewStep();
  ExecuteOnThreads(threads, [&] {
    EXPECT_TRUE(PoseBlock(*step, {0.01, 1, 1, {0, 0, -9.81}}, body.q, body.v, {}).ok());
    EXPECT_TRUE(step->Factor({}).ok());
    step->CalcFreeMotion(body.v);
  });
  return body.v;
}

TEST(ElementStages, MakeAStepOfALargeBodyTheSameForAnyNumberOfThreads) {
  for (const char* material : {"LINEAR_COROTATIONAL", "NEO_HOOKEAN"}) {
    const std::vector<double> one = StepLargeBody(material, 1);
    EXPECT_EQ(one, StepLargeBody(material, 2)) << material;
    EXPECT_EQ(one, StepLargeBody(material, 5)) << material;
  }
}

// The balance of a body, placed in the middle of a step.
struct PlacedBalance {
  explicit PlacedBalance(const LargeBody& body)
      : state{body.q, body.v, {}},
        q(body.q),
        v(body.v),
        balance(body.block->abilities().equation->NewForceBalance()) {
    BlockInputs inputs;
    inputs.gravity = {0, 0, -9.81};
    inputs.targets = {RigidTransform{}};
    balance->Start(state, inputs, 0.01);
    balance->Place(0.005, std::vector<double>(v.size(), 0.0), q, v);
  }
  std::vector<double> CalcResidual() {
    std::vector<double> residual(v.size());
    EXPECT_TRUE(balance->CalcResidual(v, {}, residual).ok());
    return residual;
  }
  solvers::BlockSum CalcJacobian(double c) {
    solvers::BlockSum jacobian;
    jacobian.Clear(static_cast<int>(v.size()));
    balance->AddJacobian(c, v, {}, 0, &jacobian);
    return jacobian;
  }
  BlockState state;
  std::vector<double> q, v;
  std::unique_ptr<ForceBalance> balance;
};

TEST(ElementStages, MakeABalanceOfALargeBodyTheSameForAnyNumberOfThreads) {
  for (const char* material : {"LINEAR_COROTATIONAL", "LOG_NEO_HOOKEAN"}) {
    FemParameters parameters = MakeBox(kFineEdge, material);
    parameters.rayleigh_beta = 0.01;
    const LargeBody body(std::move(parameters));
    std::vector<double> first;
    for (const int threads : {1, 2, 5}) {
      std::vector<double> numbers;
      ExecuteOnThreads(threads, [&] {
        PlacedBalance placed(body);
        numbers = placed.CalcResidual();
        for (const auto& entry : placed.CalcJacobian(0.01).entries) numbers.push_back(entry.value);
      });
      if (first.empty()) first = numbers;
      EXPECT_EQ(numbers, first) << material << " on " << threads << " threads";
    }
  }
}

TEST(ElementStages, LetTheJacobianOfALargeBodyBeTheDerivativeOfItsResidual) {
  FemParameters parameters = MakeBox(kFineEdge, "LOG_NEO_HOOKEAN");
  parameters.rayleigh_beta = 0.01;
  const LargeBody body(std::move(parameters));
  PlacedBalance placed(body);
  const double c = 0.01, length = 1e-6;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> direction(body.v.size()), product(body.v.size());
  for (double& x : direction) x = normal(random);
  placed.CalcJacobian(c).Multiply(direction, product);
  // c · residual at v ± length · direction, with x = c v and a = v / c
  const auto residual_at = [&](double along) {
    std::vector<double> q = body.q, v = body.v, a(v.size()), residual(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] += along * direction[i];
      q[i] += c * along * direction[i];
      a[i] = v[i] / c;
    }
    placed.balance->Place(0.005, std::vector<double>(v.size(), 0.0), q, v);
    EXPECT_TRUE(placed.balance->CalcResidual(a, {}, residual).ok());
    return residual;
  };
  const std::vector<double> ahead = residual_at(length), behind = residual_at(-length);
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < product.size(); ++i) {
    const double slope = c * (ahead[i] - behind[i]) / (2 * length);
    difference += (slope - product[i]) * (slope - product[i]);
    size += slope * slope;
  }
  EXPECT_LT(std::sqrt(difference), 1e-5 * std::sqrt(size));
}

TEST(FemBalance, GivesTheDiagonalOfItsMass) {
  FemParameters parameters = MakeBox(0.25, "NEO_HOOKEAN");
  parameters.prescribed = {{.node = 3, .body = 0, .X_WB0 = {}}};
  const LargeBody body(std::move(parameters));
  PlacedBalance placed(body);
  std::vector<double> expected(body.v.size(), 0.0), diagonal(body.v.size());
  for (const auto& entry : placed.CalcJacobian(0).entries)
    if (entry.row == entry.column) expected[entry.row] += entry.value;
  placed.balance->CalcMassDiagonal({}, diagonal);
  EXPECT_EQ(diagonal, expected);
  EXPECT_EQ(diagonal[9], 1);
}

}  // namespace
}  // namespace pliant::physics
