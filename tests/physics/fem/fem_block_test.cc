#include "physics/fem/fem_block.h"

#include <cmath>
#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "physics/fem/elements.h"
#include "physics/fem/materials/polar_rotation.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/block_steps.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// A bar of 2 × 1 × 1 cells of 0.1 m, in twelve tetrahedra, irregular so that nothing cancels by
// symmetry.
FemParameters MakeBar(const char* material = "LINEAR_COROTATIONAL") {
  FemParameters p;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) {
      for (int k = 0; k < 2; ++k)
        p.mesh.vertices.push_back(0.1 * Vector3d(i + 0.1 * j, j + 0.07 * k, k - 0.05 * i));
    }
  }
  const auto id = [](int i, int j, int k) { return 4 * i + 2 * j + k; };
  for (int i = 0; i < 2; ++i) {
    const int a = id(i, 0, 0), b = id(i + 1, 0, 0), c = id(i + 1, 1, 0), d = id(i, 1, 0);
    const int e = id(i, 0, 1), f = id(i + 1, 0, 1), g = id(i + 1, 1, 1), h = id(i, 1, 1);
    // six tetrahedra about the diagonal a–g
    for (const auto& [s, t] : {std::pair{b, c}, {c, d}, {d, h}, {h, e}, {e, f}, {f, b}}) {
      p.mesh.tetrahedra.push_back({a, s, t, g});
    }
  }
  p.materials = {{FindMaterial(material), {1e5, 0.35}, 1000}};
  p.rayleigh_alpha = 0.3;
  p.rayleigh_beta = 0.02;
  return p;
}

struct Fixture {
  explicit Fixture(FemParameters p)
      : block(MakeFemBlock(std::move(p))), q(block->num_positions()), v(block->num_velocities()) {
    block->SetInitialState({q, v});
  }
  // Moves and deforms the body at random.
  void Disturb(double size, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-size, size);
    for (double& x : q) x += uniform(random);
    for (double& x : v) x += 10 * uniform(random);
  }
  std::shared_ptr<const DynamicsBlock> block;
  std::vector<double> q, v;
};

// Internal force, from a step without damping and gravity: m(v0) = −h f at v0 = 0.
std::vector<double> InternalForce(FemParameters p, const std::vector<double>& q) {
  p.rayleigh_alpha = p.rayleigh_beta = 0;
  const auto block = MakeFemBlock(std::move(p));
  const auto step = block->NewStep();
  const std::vector<double> v(q.size(), 0.0);
  const double h = 1e-3;
  EXPECT_TRUE(PoseBlock(*step, {h, 1, 1, Vector3d::Zero()}, q, v, {}).ok());
  std::vector<double> residual(q.size());
  step->CalcMomentumResidual(v, residual);
  for (double& r : residual) r /= -h;
  return residual;
}

TEST(FemBlock, SharingARestShapeChangesNoBit) {
  FemParameters p = MakeBar();
  FemRestShapes shapes;
  MakeFemBlock(MakeBar("LINEAR"), &shapes);
  MakeFemBlock(p, &shapes);
  p.X_WB.p = {1, 2, 3};
  const auto alone = MakeFemBlock(p), beside = MakeFemBlock(p, &shapes);
  std::vector<double> results[2];
  for (const auto& [block, result] :
       {std::pair{alone.get(), &results[0]}, {beside.get(), &results[1]}}) {
    std::vector<double> q(block->num_positions()), v(block->num_velocities());
    block->SetInitialState({q, v});
    for (std::size_t i = 0; i < q.size(); ++i) q[i] *= 1 + 1e-3 * static_cast<double>(i % 7);
    const auto step = block->NewStep();
    ASSERT_TRUE(PoseBlock(*step, {0.01, 1, 1, {0, 0, -9.81}}, q, v, {}).ok());
    const std::vector<int> participants = {1, 4, 5};
    ASSERT_TRUE(step->Factor(participants).ok());
    const auto schur = step->schur_complement().dense;
    result->assign(schur.begin(), schur.end());
    result->push_back(block->mass(0));
    std::vector<double> v_star(v.size());
    step->CalcFreeMotion(v_star);
    result->insert(result->end(), v_star.begin(), v_star.end());
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(Polar, RotationsOfLanesAgreeWithTheSingularValueDecomposition) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int trial = 0; trial < 2000; ++trial) {
    LaneMatrix3 F;
    for (auto& lane : F) {
      for (int l = 0; l < kLanes; ++l) lane[l] = uniform(random);
    }
    const LaneMatrix3 R = CalcPolarRotations(F);
    for (int l = 0; l < kLanes; ++l) {
      Matrix3d f, r;
      for (int i = 0; i < 9; ++i) {
        f.data()[i] = F[i][l];
        r.data()[i] = R[i][l];
      }
      EXPECT_LT((r.transpose() * r - Matrix3d::Identity()).norm(), 2e-14);
      EXPECT_GT(r.determinant(), 0);
      // R maximises tr(Rᵀ F), so RᵀF is symmetric; the error of R is bounded by rounding over the
      // smallest sum of two stretches
      const Vector3d squares =
          Eigen::SelfAdjointEigenSolver<Matrix3d>(f.transpose() * f).eigenvalues();
      const Vector3d stretches = squares.cwiseMax(0).cwiseSqrt();
      const double gap = stretches[1] + (f.determinant() > 0 ? 1 : -1) * stretches[0];
      EXPECT_LT((r - CalcPolarRotation(f)).norm(), 1e-13 / gap);
    }
  }
}

TEST(Corotational, ForceIsTheGradientOfTheEnergyWithTheRotationHeld) {
  // with R0 fixed the energy is quadratic, so central differences are exact up to rounding
  const FemParameters p = MakeBar();
  Fixture f(p);
  f.Disturb(0.01, 5);
  const auto batches = MakeElementBatches(p).batches;
  for (const ElementBatch& batch : batches) {
    const LaneMatrix3 F = CalcGradient(batch, f.q);
    const LaneMatrix3 R0 = CalcReferenceRotation(batch, F);
    Lane forces[4][3];
    CalcForces(batch, CalcStress(batch, R0, F, false), forces);
    const double d = 1e-4;
    for (int l = 0; l < kLanes; ++l) {
      for (int a = 0; a < 4; ++a) {
        for (int r = 0; r < 3; ++r) {
          auto high = f.q, low = f.q;
          high[3 * batch.nodes[l][a] + r] += d;
          low[3 * batch.nodes[l][a] + r] -= d;
          const Lane difference = CalcEnergyDensity(batch, R0, CalcGradient(batch, high)) -
                                  CalcEnergyDensity(batch, R0, CalcGradient(batch, low));
          const double derivative = batch.volume[l] * difference[l] / (2 * d);
          EXPECT_NEAR(-derivative, forces[a][r][l], 1e-8 * (1 + std::abs(derivative)));
        }
      }
    }
  }
}

TEST(Corotational, ForceIsTheGradientOfTheTrueEnergyToSecondOrder) {
  // the lagged rotation is the polar one at the start, where ∂E/∂R vanishes by symmetry of RᵀF, so
  // the force is exact there
  const FemParameters p = MakeBar();
  Fixture f(p);
  f.Disturb(0.01, 6);
  const std::vector<double> force = InternalForce(p, f.q);
  double error[2];
  for (int k = 0; k < 2; ++k) {
    const double d = k == 0 ? 1e-3 : 5e-4;
    error[k] = 0;
    for (std::size_t i = 0; i < f.q.size(); ++i) {
      auto high = f.q, low = f.q;
      high[i] += d;
      low[i] -= d;
      const double derivative =
          (CalcElasticEnergy(*f.block, high) - CalcElasticEnergy(*f.block, low)) / (2 * d);
      error[k] = std::max(error[k], std::abs(derivative + force[i]));
    }
  }
  EXPECT_NEAR(error[0] / error[1], 4, 0.4);
}

TEST(Corotational, TangentIsTheDerivativeOfTheMomentumResidual) {
  Fixture f(MakeBar());
  f.Disturb(0.01, 7);
  for (const auto& [theta, theta_vq] : {std::pair{1.0, 1.0}, {0.5, 0.5}, {0.0, 1.0}}) {
    const auto step = f.block->NewStep();
    ASSERT_TRUE(PoseBlock(*step, {0.01, theta, theta_vq, {0, 0, -9.81}}, f.q, f.v, {}).ok());
    const std::size_t n = f.v.size();
    std::vector<double> dv(n), product(n), r0(n), r1(n), moved = f.v;
    for (std::size_t i = 0; i < n; ++i) moved[i] += dv[i] = std::sin(1.0 + static_cast<double>(i));
    step->CalcMomentumResidual(f.v, r0);
    step->CalcMomentumResidual(moved, r1);
    step->MultiplyTangent(dv, product);
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(r1[i] - r0[i], product[i], 1e-12 * (1 + std::abs(r1[i])));
  }
}

TEST(Corotational, StiffnessIsTheDerivativeOfTheForceWithTheRotationHeld) {
  const FemParameters p = MakeBar();
  Fixture f(p);
  f.Disturb(0.01, 8);
  const ElementBatch batch = MakeElementBatches(p).batches.front();
  const LaneMatrix3 F = CalcGradient(batch, f.q);
  const LaneMatrix3 R0 = CalcReferenceRotation(batch, F);
  LaneMatrix3 blocks[10];
  CalcStiffness(batch, R0, 1, blocks);
  const double d = 1e-3;
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b <= a; ++b) {
      const LaneMatrix3& K = blocks[a * (a + 1) / 2 + b];
      for (int c = 0; c < 3; ++c) {
        auto moved = f.q;
        moved[3 * batch.nodes[0][b] + c] += d;
        Lane before[4][3], after[4][3];
        CalcForces(batch, CalcStress(batch, R0, F, false), before);
        CalcForces(batch, CalcStress(batch, R0, CalcGradient(batch, moved), false), after);
        for (int r = 0; r < 3; ++r) {
          // check lane 0 only, as other lanes may share the node
          EXPECT_NEAR(-(after[a][r][0] - before[a][r][0]) / d, K[3 * c + r][0],
                      1e-6 * (1 + std::abs(K[3 * c + r][0])));
        }
      }
    }
  }
}

TEST(Corotational, RigidMotionGivesNoForce) {
  const FemParameters p = MakeBar();
  Fixture f(p);
  const RigidTransform X{RotationFromVector({1.1, -0.4, 2.0}).toRotationMatrix(), {3, -2, 1}};
  for (int i = 0; i < f.block->abilities().nodes->num_nodes(); ++i) {
    Eigen::Map<Vector3d> x(&f.q[3 * i]);
    x = X * Vector3d(x);
  }
  // rounding of x over an edge, times stiffness E L: 1e-16 · 4 m/0.1 m · 1e5 Pa · 0.01 m²
  for (const double force : InternalForce(p, f.q)) EXPECT_LT(std::abs(force), 1e-11);
  EXPECT_LT(CalcElasticEnergy(*f.block, f.q), 1e-20);
  EXPECT_NEAR(f.block->abilities().elements->CalcVolume({f.q, {}}, 0), 0.002, 0.0001);
}

TEST(Corotational, AnInvertedElementIsPushedBack) {
  FemParameters p = MakeBar();
  Fixture f(p);
  // push one corner through the bar
  f.q[0] += 0.25;
  const std::vector<double> force = InternalForce(p, f.q);
  for (const double x : force) EXPECT_TRUE(std::isfinite(x));
  EXPECT_LT(force[0], 0);
}

TEST(FemBlock, MassIsExact) {
  const FemParameters p = MakeBar();
  const auto block = MakeFemBlock(p);
  EXPECT_NEAR(block->mass(0), 1000 * CalcVolume(p.mesh), 1e-12 * block->mass(0));
  // the kinetic energy of a uniform velocity is ½ m v²
  std::vector<double> q(block->num_positions()), v(block->num_velocities(), 0.0);
  block->SetInitialState({q, v});
  for (std::size_t i = 0; i < v.size(); i += 3) v[i] = 2;
  EXPECT_NEAR(CalcKineticEnergy(*block, q, v), 2 * block->mass(0), 1e-12 * block->mass(0));
  EXPECT_NEAR(block->CalcMomentum({q, v}, 0)[0], 2 * block->mass(0), 1e-12 * block->mass(0));
  // a shear v_y = 3 x is exact in linear elements and has ½ ρ 9 ∫x² dV; the rule of four points is
  // exact for quadratic functions
  std::ranges::fill(v, 0.0);
  for (std::size_t i = 0; i < v.size(); i += 3) v[i + 1] = 3 * q[i];
  const double far = (5 - std::sqrt(5.0)) / 20, near = 1 - 3 * far;
  double integral = 0;
  for (const std::array<int, 4>& t : p.mesh.tetrahedra) {
    const auto x = [&](int a) { return p.mesh.vertices[t[a]]; };
    const double volume = std::abs((x(1) - x(0)).dot((x(2) - x(0)).cross(x(3) - x(0)))) / 6;
    const double sum = x(0).x() + x(1).x() + x(2).x() + x(3).x();
    for (int a = 0; a < 4; ++a)
      integral += volume / 4 * std::pow(far * sum + (near - far) * x(a).x(), 2);
  }
  const double expected = 0.5 * 1000 * 9 * integral;
  EXPECT_NEAR(CalcKineticEnergy(*block, q, v), expected, 1e-12 * expected);
}

TEST(FemBlock, FreeFlightKeepsLinearMomentum) {
  FemParameters p = MakeBar();
  p.rayleigh_alpha = 0;
  p.angular_velocity = {3, -2, 5};
  p.linear_velocity = {1, 0, 2};
  Fixture f(p);
  const double h = 0.01;
  const auto step = f.block->NewStep();
  const Vector3d start = f.block->CalcMomentum({f.q, f.v}, 0).head<3>();
  std::vector<double> v_new(f.v.size());
  for (int k = 1; k <= 100; ++k) {
    ASSERT_TRUE(PoseBlock(*step, {h, 1, 1, {0, 0, -9.81}}, f.q, f.v, {}).ok());
    ASSERT_TRUE(step->Factor({}).ok());
    step->CalcFreeMotion(v_new);
    step->Integrate(v_new, {f.q, f.v});
    const Vector3d expected = start + f.block->mass(0) * k * h * Vector3d(0, 0, -9.81);
    const Vector3d momentum = f.block->CalcMomentum({f.q, f.v}, 0).head<3>();
    ASSERT_LT((momentum - expected).norm(), 1e-12 * expected.norm()) << k;
  }
}

TEST(FemBlock, PrescribedVerticesLandWhereTheyBelongAndTheRestSolvesTheSystem) {
  FemParameters p = MakeBar();
  p.prescribed = {{0, 4, {}}, {1, 4, {}}, {2, 4, {}}, {3, 4, {}}};
  Fixture f(p);
  EXPECT_EQ(f.block->abilities().prescribed->followed_bodies(), std::vector<int>{4});
  const auto step = f.block->NewStep();
  BlockInputs inputs;
  inputs.targets = {{RotationFromVector({0, 0.1, 0}).toRotationMatrix(), {0.01, 0, 0.02}}};
  ASSERT_TRUE(PoseBlock(*step, {0.01, 1, 1, {0, 0, -9.81}}, f.q, f.v, inputs).ok());
  const std::vector<int> participants{0, 3, 5, 11};
  ASSERT_TRUE(step->Factor(participants).ok());
  std::vector<double> v(f.v.size()), residual(f.v.size());
  step->CalcFreeMotion(v);
  std::vector<double> v_p;
  for (const int node : participants) v_p.insert(v_p.end(), &v[3 * node], &v[3 * node] + 3);
  step->Complete(v_p, v);
  step->CalcMomentumResidual(v, residual);
  for (const double r : residual) EXPECT_LT(std::abs(r), 1e-10);
  const auto start = f.q;
  step->Integrate(v, {f.q, f.v});
  for (int i = 0; i < 4; ++i) {
    const Vector3d target =
        inputs.targets[0] * Vector3d(start[3 * i], start[3 * i + 1], start[3 * i + 2]);
    for (int r = 0; r < 3; ++r) EXPECT_NEAR(f.q[3 * i + r], target[r], 1e-15);
  }
  BlockRows rows;
  Attachment point;
  point.nodes = {{3, 0.5}, {5, 0.5}};
  step->AppendRows(point, &rows);
  std::vector<int> groups;
  rows.ForEachPart([&](int group, int, const double*) { groups.push_back(group); });
  EXPECT_EQ(groups, std::vector<int>{5});
  const Vector3d halfway = (VectorAt(f.q, 9) - VectorAt(start, 9)) / 0.02;
  EXPECT_LT((rows.prescribed - halfway).norm(), 1e-13);
}

// Attaches a point to many nodes, as a quadratic kernel would: its velocity is their weighted sum.
TEST(FemBlock, PointMayBeAttachedToTwentySevenNodes) {
  FemParameters p = MakeBar();
  p.mesh = *MeshBox({0.2, 0.2, 0.2}, 0.1);
  Fixture f(p);
  constexpr int kCount = 27;
  ASSERT_GE(f.block->abilities().nodes->num_nodes(), kCount);
  Attachment point;
  double sum = 0;
  for (int k = 0; k < kCount; ++k) sum += 1 + k;
  for (int k = 0; k < kCount; ++k) point.nodes.Add(k, (1 + k) / sum);
  Eigen::Vector3d expected = Eigen::Vector3d::Zero();
  for (std::size_t i = 0; i < f.v.size(); ++i) f.v[i] = std::sin(static_cast<double>(i));
  for (int k = 0; k < kCount; ++k) expected += point.nodes.weight(k) * VectorAt(f.v, 3 * k);
  const NodeSet& nodes = *f.block->abilities().nodes;
  EXPECT_LT((nodes.CalcPointVelocity({f.q, f.v}, point) - expected).norm(), 1e-15);

  // its rows give the same velocity
  const std::unique_ptr<BlockStep> step = f.block->NewStep();
  BlockRows rows;
  step->AppendRows(point, &rows);
  Eigen::Vector3d by_rows = Eigen::Vector3d::Zero();
  int num_parts = 0;
  rows.ForEachPart([&](int group, int num_columns, const double* J) {
    ++num_parts;
    ASSERT_EQ(num_columns, 3);
    by_rows += Eigen::Map<const Matrix3d>(J) * VectorAt(f.v, 3 * group);
  });
  EXPECT_EQ(num_parts, kCount);
  EXPECT_LT((by_rows - expected).norm(), 1e-15);
}

TEST(FemFields, UniformStretchGivesTheTextbookMeasures) {
  const FemParameters p = MakeBar();
  Fixture f(p);
  const double s = 1.1;
  for (std::size_t i = 0; i < f.q.size(); i += 3) f.q[i] *= s;
  std::vector<double> values(f.block->abilities().elements->num_elements());
  f.block->abilities().elements->CalcElementField(FieldMeasure::kVolumeRatio, {f.q, {}}, values);
  for (const double x : values) EXPECT_NEAR(x, s, 1e-12);
  f.block->abilities().elements->CalcElementField(FieldMeasure::kPrincipalStretch, {f.q, {}},
                                                  values);
  for (const double x : values) EXPECT_NEAR(x, s, 1e-12);
  // E = diag((s² − 1)/2, 0, 0), and the equivalent strain is 2/3 of its xx component
  f.block->abilities().elements->CalcElementField(FieldMeasure::kVonMisesStrain, {f.q, {}}, values);
  for (const double x : values) EXPECT_NEAR(x, (s * s - 1) / 3, 1e-12);
  // for a small strain ε along x, σ_xx − σ_yy = 2 μ ε up to O(ε) of the Cauchy push-forward; exact
  // here, from P_xx and P_yy/s
  const double mu = 1e5 / 2.7, lambda = 1e5 * 0.35 / (1.35 * 0.3), e = s - 1;
  const double sigma_x = (2 * mu + lambda) * e, sigma_y = lambda * e / s;
  f.block->abilities().elements->CalcElementField(FieldMeasure::kVonMisesStress, {f.q, {}}, values);
  for (const double x : values) EXPECT_NEAR(x, std::abs(sigma_x - sigma_y), 1e-9 * sigma_x);
}

TEST(FemFields, StressIsATensorThatTurnsWithTheBody) {
  const FemParameters p = MakeBar();
  Fixture f(p);
  const double s = 1.1;
  const Matrix3d R = RotationFromVector({0.5, -0.9, 0.3}).toRotationMatrix();
  for (std::size_t i = 0; i < f.q.size(); i += 3) {
    Eigen::Map<Vector3d> x(&f.q[i]);
    x = R * Vector3d(s * x.x(), x.y(), x.z());
  }
  // as for the stretch alone: exact, from P_xx and P_yy/s
  const double mu = 1e5 / 2.7, lambda = 1e5 * 0.35 / (1.35 * 0.3), e = s - 1;
  const Vector3d along((2 * mu + lambda) * e, lambda * e / s, lambda * e / s);
  const Matrix3d sigma = R * along.asDiagonal() * R.transpose();
  const double expected[] = {sigma(0, 0), sigma(1, 1), sigma(2, 2),
                             sigma(0, 1), sigma(1, 2), sigma(0, 2)};
  const int count = f.block->abilities().elements->num_elements();
  std::vector<double> values(6 * count);
  f.block->abilities().elements->CalcElementField(FieldMeasure::kCauchyStress, {f.q, {}}, values);
  for (int i = 0; i < 6 * count; ++i)
    EXPECT_NEAR(values[i], expected[i % 6], 1e-9 * along.x()) << i;
}

TEST(FemFields, TensorsArePrincipalWhereTheyAreAndInTheirFrames) {
  const FemParameters p = MakeBar();
  Fixture f(p);
  // stretch along the body's axes, then rotate
  const Vector3d s(1.3, 0.8, 1.1);
  const Matrix3d R = RotationFromVector({0.5, -0.9, 0.3}).toRotationMatrix();
  for (int i = 0; i < f.block->abilities().nodes->num_nodes(); ++i) {
    Eigen::Map<Vector3d> x(&f.q[3 * i]);
    x = R * s.asDiagonal() * Vector3d(x);
  }
  const auto field = [&](FieldMeasure measure) {
    std::vector<double> values(CountComponents(measure) *
                               f.block->abilities().elements->num_elements());
    f.block->abilities().elements->CalcElementField(measure, {f.q, {}}, values);
    return values;
  };
  const std::vector<double> green = field(FieldMeasure::kGreenStrain);
  const std::vector<double> left = field(FieldMeasure::kLeftCauchyGreen);
  const std::vector<double> equivalent = field(FieldMeasure::kVonMisesStrain);
  const Vector3d E = 0.5 * (s.cwiseAbs2() - Vector3d::Ones());
  const Vector3d deviator = E - Vector3d::Constant(E.mean());
  for (const double x : equivalent) EXPECT_NEAR(x, std::sqrt(2.0 / 3) * deviator.norm(), 1e-12);
  const std::vector<double> stretches = field(FieldMeasure::kPrincipalStretches);
  const std::vector<double> directions = field(FieldMeasure::kPrincipalDirections);
  const Matrix3d b = R * s.cwiseAbs2().asDiagonal() * R.transpose();
  const int order[] = {0, 2, 1};  // largest first
  for (int e = 0; e < f.block->abilities().elements->num_elements(); ++e) {
    const int index[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {1, 2}, {0, 2}};
    for (int k = 0; k < 6; ++k) {
      const auto [i, j] = index[k];
      EXPECT_NEAR(green[6 * e + k], i == j ? 0.5 * (s[i] * s[i] - 1) : 0, 1e-12);
      EXPECT_NEAR(left[6 * e + k], b(i, j), 1e-12);
    }
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(stretches[3 * e + k], s[order[k]], 1e-12);
      EXPECT_NEAR(std::abs(VectorAt(directions, 9 * e + 3 * k).dot(R.col(order[k]))), 1, 1e-12);
    }
  }
}

}  // namespace
}  // namespace pliant::physics
