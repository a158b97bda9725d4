#include "solvers/problem/constraint_system.h"

#include <random>

#include <gtest/gtest.h>

#include "solvers/problem/whole_island.h"

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

// Three blocks of 3, 6 and 2 velocities, and random rows: two contacts of several entries and a
// scalar row.
ConstraintSystem MakeSystem(std::mt19937* random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  ConstraintSystem system;
  for (const int size : {3, 6, 2}) {
    ConstraintSystem::Block& block = system.blocks.emplace_back();
    block.first = system.num_velocities;
    block.size = size;
    system.num_velocities += size;
  }
  const auto add_entry = [&](int block, int first, int columns, int height) {
    system.entries.push_back({block, first, columns, system.values.size()});
    for (int i = 0; i < height * columns; ++i) system.values.push_back(uniform(*random));
  };
  system.contacts.push_back({0, 2, Vector3d(0.1, 0.2, 0.3)});
  add_entry(0, 0, 3, 3);
  add_entry(1, 2, 4, 3);
  system.contacts.push_back({2, 2});
  add_entry(1, 0, 6, 3);
  add_entry(2, 1, 1, 3);
  system.rows.push_back({4, 2, -0.5});
  add_entry(0, 1, 2, 1);
  add_entry(2, 0, 2, 1);
  return system;
}

TEST(ConstraintSystem, ImpulsesAreExertedByTheTransposeOfWhatVelocitiesAreReadBy) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const ConstraintSystem system = MakeSystem(&random);
  Impulses impulses;
  for (int c = 0; c < 2; ++c)
    impulses.contacts.emplace_back(uniform(random), uniform(random), uniform(random));
  impulses.rows.push_back(uniform(random));
  std::vector<double> v(system.num_velocities), exerted;
  for (double& x : v) x = uniform(random);
  CalcExertedImpulse(system, impulses, &exerted);
  // γᵀ(J v) = vᵀ(Jᵀγ)
  double power = 0;
  for (int c = 0; c < 2; ++c)
    power += impulses.contacts[c].dot(CalcContactVelocity(system, c, v) - system.contacts[c].bias);
  power += impulses.rows[0] * (CalcRowRate(system, 0, v) - system.rows[0].bias);
  double other = 0;
  for (int i = 0; i < system.num_velocities; ++i) other += v[i] * exerted[i];
  EXPECT_NEAR(power, other, 30 * 2.3e-16);  // about thirty products of numbers below one
}

TEST(ConstraintSystem, AnEntryByWeightsIsAMultipleOfOneMatrixOnEachNode) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  ConstraintSystem by_weights;
  by_weights.blocks.resize(2);
  by_weights.blocks[0].size = by_weights.blocks[1].first = 2;
  by_weights.blocks[1].size = 12;
  by_weights.num_velocities = 14;
  ConstraintSystem spelled_out = by_weights;
  const int nodes[] = {9, 0, 3};
  const double weights[] = {0.2, 0.5, -0.3};
  Eigen::Matrix3d Q;
  for (double& x : Q.reshaped()) x = uniform(random);
  by_weights.contacts.push_back({0, 1});
  by_weights.entries.push_back({1, 0, 3, 0, 0, 3});
  by_weights.nodes.assign(nodes, nodes + 3);
  by_weights.values.assign(Q.data(), Q.data() + 9);
  by_weights.values.insert(by_weights.values.end(), weights, weights + 3);
  spelled_out.contacts.push_back({0, 3});
  for (int k = 0; k < 3; ++k) {
    spelled_out.entries.push_back({1, nodes[k], 3, spelled_out.values.size()});
    for (const double x : Q.reshaped()) spelled_out.values.push_back(weights[k] * x);
  }

  std::vector<double> v(14), exerted, expected;
  for (double& x : v) x = uniform(random);
  EXPECT_EQ(CalcContactVelocity(by_weights, 0, v), CalcContactVelocity(spelled_out, 0, v));
  const Impulses impulses{{Vector3d(1, -2, 3)}, {}};
  CalcExertedImpulse(by_weights, impulses, &exerted);
  CalcExertedImpulse(spelled_out, impulses, &expected);
  EXPECT_EQ(exerted, expected);
}

TEST(IslandView, ScattersWhatItGathers) {
  std::mt19937 random(1);
  const ConstraintSystem system = MakeSystem(&random);
  // an island of the first and the last block
  const int blocks[] = {0, 2}, local_block[] = {0, -1, 1}, local_first[] = {0, -1, 3};
  const IslandView island{&system, blocks, {}, {}, local_block, local_first, 5};
  std::vector<double> all(11), own, again(11, -1.0);
  for (int i = 0; i < 11; ++i) all[i] = i;
  island.Gather(all, &own);
  EXPECT_EQ(own, (std::vector<double>{0, 1, 2, 9, 10}));
  island.Scatter(own, again);
  EXPECT_EQ(again, (std::vector<double>{0, 1, 2, -1, -1, -1, -1, -1, -1, 9, 10}));
  EXPECT_EQ(island.first_of(system.entries[3]), 4);
  EXPECT_EQ(island.block_of(system.entries[3]), 1);
}

TEST(IslandView, OfAWholeSystemNumbersAsTheSystemDoes) {
  std::mt19937 random(1);
  const ConstraintSystem system = MakeSystem(&random);
  const WholeIsland whole(system);
  for (const ConstraintSystem::Entry& entry : system.entries) {
    EXPECT_EQ(whole.view().first_of(entry), system.first_of(entry));
    EXPECT_EQ(whole.view().block_of(entry), entry.block);
  }
  int entries = 0, rows = 0;
  whole.view().ForEachConstraint([&](std::span<const ConstraintSystem::Entry> of, int height) {
    entries += static_cast<int>(of.size());
    rows += height;
  });
  EXPECT_EQ(entries, 6);
  EXPECT_EQ(rows, 7);
}

}  // namespace
}  // namespace pliant::solvers
