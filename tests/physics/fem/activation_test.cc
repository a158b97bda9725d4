// Regions under an internal volumetric stress: how far they expand, and that the stress exerts no
// net force or torque.

#include "physics/fem/activation.h"

#include <cmath>
#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/block_steps.h"
#include "tests/physics/fem/distorted_box.h"
#include "tests/physics/fem/materials/select_materials.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kBlockEdge = 0.1;  // [m]

// A box with randomly displaced vertices; all of its elements, or those at x > 0, can be stressed.
FemParameters MakeActivated(const Material* material, bool half = false) {
  FemParameters p = MakeDistortedBox(material, kBlockEdge);
  p.rayleigh_alpha = 5;
  p.activations.resize(1);
  for (int t = 0; t < static_cast<int>(p.mesh.tetrahedra.size()); ++t) {
    double x = 0;
    for (const int node : p.mesh.tetrahedra[t]) x += p.mesh.vertices[node].x();
    if (!half || x > 0) p.activations[0].push_back(t);
  }
  return p;
}

double BulkModulusOf(const FemParameters& p) {
  const RestModuli moduli = CalcRestModuli(*p.materials[0].material, p.materials[0].parameters);
  return moduli.lambda + 2 * moduli.mu / 3;
}

struct ActivatedBody {
  explicit ActivatedBody(const FemParameters& p)
      : block(MakeFemBlock(p)),
        step(block->NewStep()),
        q(block->num_positions()),
        v(block->num_velocities()) {
    block->SetInitialState({q, v});
  }
  void Step(double h, double stress) {
    BlockInputs inputs;
    inputs.efforts = {{0, stress}};
    ASSERT_TRUE(PoseBlock(*step, {h, 1, 1, Vector3d::Zero()}, q, v, inputs).ok());
    ASSERT_TRUE(step->Factor({}).ok());
    std::vector<double> next(v.size());
    step->CalcFreeMotion(next);
    step->Integrate(next, {q, v});
  }
  // Forces at q due to a stress: those of an explicit step with it minus those without.
  std::vector<double> Forces(double stress) {
    const double h = 1e-3;
    const std::vector<double> rest(q.size(), 0.0);
    std::vector<double> with(q.size()), without(q.size());
    for (auto [value, residual] : {std::pair(stress, &with), std::pair(0.0, &without)}) {
      BlockInputs inputs;
      inputs.efforts = {{0, value}};
      EXPECT_TRUE(PoseBlock(*step, {h, 0, 1, Vector3d::Zero()}, q, rest, inputs).ok());
      step->CalcMomentumResidual(rest, *residual);
    }
    for (std::size_t i = 0; i < with.size(); ++i) with[i] = (without[i] - with[i]) / h;
    return with;
  }
  std::shared_ptr<const DynamicsBlock> block;
  std::unique_ptr<BlockStep> step;
  std::vector<double> q, v;
};

class EveryMaterial : public testing::TestWithParam<const Material*> {};

INSTANTIATE_TEST_SUITE_P(Registered, EveryMaterial, testing::ValuesIn(AllMaterials()),
                         NameOfMaterial);

// The strain is ε = p / 3 K in all elements of an irregular mesh: exactly for materials that are
// linear in F, to first order in ε for others.
TEST_P(EveryMaterial, FreeBlockExpandsByTheStressOverThreeTimesItsBulkModulus) {
  const FemParameters p = MakeActivated(GetParam());
  ActivatedBody body(p);
  const std::vector<double> start = body.q;
  const bool linear = GetParam()->kind() != Material::Kind::kNonlinear;
  const double strain = linear ? 0.01 : 1e-7;
  for (int k = 0; k < 60; ++k) body.Step(0.5, 3 * BulkModulusOf(p) * strain);
  const Vector3d center = body.block->CalcCenterOfMass({body.q, {}}, 0);
  const Vector3d start_center = body.block->CalcCenterOfMass({start, {}}, 0);
  for (int i = 0; i < body.block->abilities().nodes->num_nodes(); ++i) {
    const Vector3d moved = VectorAt(body.q, 3 * i) - center;
    const Vector3d expected = (1 + strain) * (VectorAt(start, 3 * i) - start_center);
    ASSERT_LT((moved - expected).norm(), 1e-6 * strain * 0.3) << i;
  }
}

TEST_P(EveryMaterial, StressPushesNothingAboutAsAWhole) {
  // rotate and deform the body, unless its material is linear, as R0 would not follow
  const FemParameters p = MakeActivated(GetParam(), true);
  ActivatedBody body(p);
  std::mt19937 random(4);
  std::uniform_real_distribution<double> uniform(-0.05 * kBlockEdge, 0.05 * kBlockEdge);
  const bool turns = GetParam()->kind() != Material::Kind::kLinear;
  const Matrix3d R =
      turns ? RotationFromVector({0.5, -0.8, 0.3}).toRotationMatrix() : Matrix3d::Identity();
  for (int i = 0; i < body.block->abilities().nodes->num_nodes(); ++i) {
    Eigen::Map<Vector3d> x(&body.q[3 * i]);
    x = R * Vector3d(x);
    if (turns) x += Vector3d(uniform(random), uniform(random), uniform(random));
  }
  const std::vector<double> forces = body.Forces(1e4);
  Vector3d force = Vector3d::Zero(), torque = Vector3d::Zero();
  double size = 0;
  for (int i = 0; i < body.block->abilities().nodes->num_nodes(); ++i) {
    const Vector3d f = VectorAt(forces, 3 * i);
    force += f;
    torque += VectorAt(body.q, 3 * i).cross(f);
    size += f.norm();
  }
  EXPECT_GT(size, 100);
  // R0 is accurate to about 1e-14
  EXPECT_LT(force.norm(), 1e-12 * size);
  EXPECT_LT(torque.norm(), 1e-11 * size * kBlockEdge);
}

// Stress in a region acts on its surface only: the faces of the box feel p n per area at rest.
TEST_P(EveryMaterial, InnerNodesOfAnActivatedRegionFeelNothing) {
  const FemParameters p = MakeActivated(GetParam());
  ActivatedBody body(p);
  const std::vector<double> forces = body.Forces(1e4);
  int inner = 0;
  for (int i = 0; i < body.block->abilities().nodes->num_nodes(); ++i) {
    const Vector3d x = p.mesh.vertices[i];
    if (std::abs(x.x()) > 1.3 * kBlockEdge || std::abs(x.y()) > 0.7 * kBlockEdge ||
        std::abs(x.z()) > 0.7 * kBlockEdge)
      continue;
    ++inner;
    EXPECT_LT(VectorAt(forces, 3 * i).norm(), 1e-12 * 1e4 * kBlockEdge * kBlockEdge);
  }
  EXPECT_GT(inner, 0);
}

class InvariantMaterial : public testing::TestWithParam<const Material*> {};

INSTANTIATE_TEST_SUITE_P(Registered, InvariantMaterial, SelectMaterials(IsRotationInvariant),
                         NameOfMaterial);

TEST_P(InvariantMaterial, StressSpinsNoBodyUpOrDown) {
  FemParameters p = MakeActivated(GetParam());
  p.rayleigh_alpha = 0;
  p.rayleigh_beta = 0;
  p.angular_velocity = {0, 0, 1};
  ActivatedBody with(p), without(p);
  const double stress = 3 * BulkModulusOf(p) * 0.02;
  for (int k = 0; k < 100; ++k) {
    with.Step(1e-3, stress);
    without.Step(1e-3, 0);
  }
  const double spin = with.block->CalcMomentum({with.q, with.v}, 0)[5];
  const double expected = without.block->CalcMomentum({without.q, without.v}, 0)[5];
  // R0 lags by 1e-3 rad a step in both the elastic and the active stress, a second-order effect
  EXPECT_NEAR(spin, expected, 1e-3 * expected);
}

TEST(Activation, TangentIsTheDerivativeOfTheStressAndItOfTheEnergy) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-0.4, 0.4);
  LaneMatrix3 F;
  for (int i = 0; i < 9; ++i) {
    for (int l = 0; l < kLanes; ++l) F[i][l] = uniform(random) + (i % 4 == 0);
  }
  const Lane pressure{1, -2, 3, 0.5};
  const auto respond = [&](const LaneMatrix3& at) {
    MaterialResponse response{};
    AddPressure(pressure, at, Tangent::kExact, &response);
    return response;
  };
  const MaterialResponse at = respond(F);
  // for a cubic, central differences are off by δ²
  const double delta = 1e-5;
  for (int k = 0; k < 9; ++k) {
    LaneMatrix3 up = F, down = F;
    up[k] += delta;
    down[k] -= delta;
    const MaterialResponse above = respond(up), below = respond(down);
    for (int l = 0; l < kLanes; ++l) {
      EXPECT_NEAR((above.energy[l] - below.energy[l]) / (2 * delta), at.stress[k][l], 1e-9);
      for (int i = 0; i < 9; ++i) {
        EXPECT_NEAR((above.stress[i][l] - below.stress[i][l]) / (2 * delta),
                    at.tangent[9 * k + i][l], 1e-9);
        EXPECT_EQ(at.tangent[9 * k + i][l], at.tangent[9 * i + k][l]);
      }
    }
  }
}

TEST(Activation, OverlappingRegionsAddUp) {
  FemParameters p = MakeActivated(FindMaterial("LINEAR_COROTATIONAL"));
  const std::vector<double> once = ActivatedBody(p).Forces(3e4);
  p.activations.push_back(p.activations[0]);
  ActivatedBody body(p);
  BlockInputs inputs;
  inputs.efforts = {{0, 1e4}, {1, 2e4}};
  const std::vector<double> rest(body.q.size(), 0.0);
  std::vector<double> force(body.q.size());
  const double h = 1e-3;
  ASSERT_TRUE(PoseBlock(*body.step, {h, 0, 1, Vector3d::Zero()}, body.q, rest, inputs).ok());
  body.step->CalcMomentumResidual(rest, force);
  double largest = 0;
  for (const double f : once) largest = std::max(largest, std::abs(f));
  for (std::size_t i = 0; i < force.size(); ++i)
    EXPECT_NEAR(-force[i] / h, once[i], 1e-11 * largest);
}

}  // namespace
}  // namespace pliant::physics
