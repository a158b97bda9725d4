// Bodies with randomly scattered vertices: inverted elements recover without help.

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr double kWidth = 0.1;  // of the box's cells [m]

// A box of 3 × 2 × 2 cells, each vertex moved at random by up to `cells` cell widths.
struct Heap {
  Heap(double cells, unsigned seed) {
    FemParameters p;
    p.mesh = *MeshBox({3 * kWidth, 2 * kWidth, 2 * kWidth}, kWidth);
    p.materials = {{FindMaterial("LINEAR_COROTATIONAL"), {1e5, 0.35}, 1000}};
    p.rayleigh_beta = 0.01;
    block = MakeFemBlock(p);
    q.resize(block->num_positions());
    v.resize(block->num_velocities());
    block->SetInitialState({q, v});
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-cells * kWidth, cells * kWidth);
    for (double& x : q) x += uniform(random);
    step = block->NewStep();
  }
  int CountInverted() const {
    std::vector<double> ratios(block->abilities().elements->num_elements());
    block->abilities().elements->CalcElementField(FieldMeasure::kVolumeRatio, {q, {}}, ratios);
    return static_cast<int>(
        std::count_if(ratios.begin(), ratios.end(), [](double J) { return J < 0; }));
  }
  void Step() {
    std::vector<double> v_new(v.size());
    ASSERT_TRUE(PoseBlock(*step, {0.01, 1, 1, Vector3d::Zero()}, q, v, {}).ok());
    ASSERT_TRUE(step->Factor({}).ok());
    step->CalcFreeMotion(v_new);
    step->Integrate(v_new, {q, v});
  }
  std::shared_ptr<const DynamicsBlock> block;
  std::unique_ptr<BlockStep> step;
  std::vector<double> q, v;
};

TEST(Untangling, WhatIsTurnedInsideOutComesBack) {
  for (const double cells : {0.8, 2.0, 5.0}) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      Heap heap(cells, seed);
      EXPECT_GT(heap.CountInverted(), 5);
      // about two periods of the slowest vibration
      for (int k = 0; k < 20; ++k) heap.Step();
      EXPECT_EQ(heap.CountInverted(), 0) << cells << ", " << seed;
    }
  }
}

TEST(Untangling, ExertsNeitherForceNorTorqueOnTheWhole) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    Heap heap(3, seed);
    // at rest, m(v0) = −h f
    std::vector<double> residual(heap.q.size());
    ASSERT_TRUE(PoseBlock(*heap.step, {0.01, 1, 1, Vector3d::Zero()}, heap.q, heap.v, {}).ok());
    heap.step->CalcMomentumResidual(heap.v, residual);
    Vector3d force = Vector3d::Zero(), torque = Vector3d::Zero();
    double size = 0;
    for (std::size_t i = 0; i < residual.size(); i += 3) {
      const Vector3d f = VectorAt(residual, i), x = VectorAt(heap.q, i);
      force += f;
      torque += x.cross(f);
      size += f.norm();
    }
    EXPECT_LT(force.norm(), 1e-14 * size);
    EXPECT_LT(torque.norm(), 1e-14 * size);
  }
}

}  // namespace
}  // namespace pliant::physics
