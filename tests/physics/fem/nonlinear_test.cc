// Bodies of every material: patch tests, rotations, and free motion by Newton's method.

#include <cmath>
#include <limits>
#include <random>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "physics/fem/fem_block.h"
#include "physics/fem/materials/material.h"
#include "physics/geometry/meshing/tetrahedral_meshes.h"
#include "tests/physics/block_steps.h"
#include "tests/physics/fem/distorted_box.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kEdge = 0.1;  // of the box [m]

// A material, and how its elements resist a change of volume.
struct Sort {
  const Material* material;
  bool mean_dilatation = false;
  const Material* operator->() const { return material; }
};

std::vector<Sort> AllSorts() {
  std::vector<Sort> sorts;
  for (const Material* material : AllMaterials()) sorts.push_back({material});
  for (const char* name : {"NEO_HOOKEAN", "MOONEY_RIVLIN"})
    sorts.push_back({FindMaterial(name), true});
  return sorts;
}

// A box with randomly displaced vertices, so that nothing cancels by symmetry.
FemParameters MakePatch(const Sort& sort) {
  FemParameters p = MakeDistortedBox(sort.material, kEdge);
  p.mean_dilatation = sort.mean_dilatation;
  return p;
}

RestModuli ModuliOf(const FemParameters& p) {
  return CalcRestModuli(*p.materials[0].material, p.materials[0].parameters);
}

struct Moving {
  explicit Moving(FemParameters p)
      : block(MakeFemBlock(std::move(p))),
        step(block->NewStep()),
        q(block->num_positions()),
        v(block->num_velocities()) {
    block->SetInitialState({q, v});
  }
  absl::Status Step(const ThetaStep& settings) {
    if (absl::Status status = PoseBlock(*step, settings, q, v, {}); !status.ok()) return status;
    if (absl::Status status = step->Factor({}); !status.ok()) return status;
    std::vector<double> next(v.size());
    step->CalcFreeMotion(next);
    step->Integrate(next, {q, v});
    return absl::OkStatus();
  }
  void Deform(const Matrix3d& F) {
    for (int i = 0; i < block->abilities().nodes->num_nodes(); ++i) {
      Eigen::Map<Vector3d> x(&q[3 * i]);
      x = F * Vector3d(x);
    }
  }
  void Disturb(double size, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-size, size);
    for (double& x : q) x += uniform(random);
  }
  std::vector<double> Field(FieldMeasure measure) const {
    std::vector<double> values(block->abilities().elements->num_elements());
    block->abilities().elements->CalcElementField(measure, {q, {}}, values);
    return values;
  }
  std::shared_ptr<const DynamicsBlock> block;
  std::unique_ptr<BlockStep> step;
  std::vector<double> q, v;
};

// Internal forces at q, from the momentum of an explicit step without damping and gravity:
// h f = −m(v0).
std::vector<double> InternalForces(const FemParameters& p, const std::vector<double>& q) {
  Moving body(p);
  const std::vector<double> rest(q.size(), 0.0);
  const double h = 1e-3;
  EXPECT_TRUE(PoseBlock(*body.step, {h, 0, 1, Vector3d::Zero()}, q, rest, {}).ok());
  std::vector<double> force(q.size());
  body.step->CalcMomentumResidual(rest, force);
  for (double& f : force) f /= -h;
  return force;
}

std::string NameOf(const testing::TestParamInfo<Sort>& info) {
  return std::string(info.param->name()) + (info.param.mean_dilatation ? "_MEAN_DILATATION" : "");
}

// All sorts for which `has` returns true.
template <typename Has>
std::vector<Sort> SortsThat(const Has& has) {
  std::vector<Sort> sorts = AllSorts();
  std::erase_if(sorts, [&](const Sort& sort) { return !has(sort); });
  return sorts;
}

class EveryBody : public testing::TestWithParam<Sort> {};
INSTANTIATE_TEST_SUITE_P(Registered, EveryBody, testing::ValuesIn(AllSorts()), NameOf);

// Bodies whose energy is rotation invariant: all but linear ones.
class RotatingBody : public testing::TestWithParam<Sort> {};
INSTANTIATE_TEST_SUITE_P(Registered, RotatingBody,
                         testing::ValuesIn(SortsThat([](const Sort& sort) {
                           return sort->kind() != Material::Kind::kLinear;
                         })),
                         NameOf);

// Bodies whose free motion requires Newton's method.
class NonlinearBody : public testing::TestWithParam<Sort> {};
INSTANTIATE_TEST_SUITE_P(Registered, NonlinearBody,
                         testing::ValuesIn(SortsThat([](const Sort& sort) {
                           return sort->kind() == Material::Kind::kNonlinear;
                         })),
                         NameOf);

// Bodies whose inverted elements recover: linear ones do not, and the energy of St. Venant and
// Kirchhoff decreases towards the mirror image.
class RecoveringBody : public testing::TestWithParam<Sort> {};
INSTANTIATE_TEST_SUITE_P(Registered, RecoveringBody,
                         testing::ValuesIn(SortsThat([](const Sort& sort) {
                           return sort->kind() != Material::Kind::kLinear &&
                                  sort->name() != "ST_VENANT_KIRCHHOFF";
                         })),
                         NameOf);

TEST_P(EveryBody, PassesThePatchTest) {
  const FemParameters p = MakePatch(GetParam());
  Moving body(p);
  Matrix3d F;
  F << 1.15, 0.08, -0.03, -0.05, 0.9, 0.06, 0.02, 0.1, 1.05;
  body.Deform(F);
  // all elements have the same stress
  const std::vector<double> stress = body.Field(FieldMeasure::kVonMisesStress);
  for (const double s : stress) EXPECT_NEAR(s, stress[0], 1e-12 * ModuliOf(p).youngs_modulus());
  for (const double J : body.Field(FieldMeasure::kVolumeRatio))
    EXPECT_NEAR(J, F.determinant(), 1e-12);
  // no force acts on inner vertices
  const std::vector<double> force = InternalForces(p, body.q);
  int inner = 0;
  for (std::size_t i = 0; i < p.mesh.vertices.size(); ++i) {
    const Vector3d x = p.mesh.vertices[i];
    if (std::abs(x.x()) > 1.3 * kEdge || std::abs(x.y()) > 0.7 * kEdge ||
        std::abs(x.z()) > 0.7 * kEdge)
      continue;
    ++inner;
    EXPECT_LT(VectorAt(force, 3 * static_cast<int>(i)).norm(),
              1e-12 * ModuliOf(p).youngs_modulus() * kEdge * kEdge);
  }
  EXPECT_GT(inner, 0);
}

TEST_P(RotatingBody, RigidRotationGivesNoStress) {
  const FemParameters p = MakePatch(GetParam());
  Moving body(p);
  body.Deform(RotationFromVector({1.1, -0.4, 2.0}).toRotationMatrix());
  const double E = ModuliOf(p).youngs_modulus();
  for (const double s : body.Field(FieldMeasure::kVonMisesStress)) EXPECT_LT(s, 1e-12 * E);
  for (const double f : InternalForces(p, body.q))
    EXPECT_LT(std::abs(f), 1e-12 * E * kEdge * kEdge);
  EXPECT_LT(CalcElasticEnergy(*body.block, body.q), 1e-12 * E * kEdge * kEdge * kEdge);
}

// The linear strain of a rotation by θ is (cosθ − 1) diag(1, 1, 0).
TEST(LinearBody, RigidRotationGivesTheStressOfItsLinearStrain) {
  const FemParameters p = MakePatch({FindMaterial("LINEAR")});
  Moving body(p);
  const double angle = 0.3;
  body.Deform(RotationFromVector({0, 0, angle}).toRotationMatrix());
  // σ = sym(P Rᵀ) with P = 2 μ ε + λ tr(ε) I: |σ_xx − σ_zz|
  const auto [mu, lambda] = ModuliOf(p);
  const double c = std::cos(angle);
  const double expected = (1 - c) * std::abs(2 * c * (mu + lambda) - 2 * lambda);
  for (const double s : body.Field(FieldMeasure::kVonMisesStress))
    EXPECT_NEAR(s, expected, 1e-10 * expected);
}

TEST_P(NonlinearBody, FreeMotionBalancesMomentumAtTheEndOfTheStep) {
  FemParameters p = MakePatch(GetParam());
  p.rayleigh_beta = 0;
  Moving body(p);
  body.Disturb(0.1 * kEdge, 4);
  const std::vector<double> q0 = body.q;
  const Vector3d gravity(0, 0, -9.81);
  const double h = 0.01;
  ASSERT_TRUE(body.Step({h, 1, 1, gravity}).ok());
  const FreeMotionReport report = body.step->abilities().nonlinear->free_motion_report();
  EXPECT_GT(report.iterations, 1);
  EXPECT_LT(report.residual, 1e-8);
  // M v/h + ∇W(q) − M g in random directions: kinetic energy is a quadratic form, and W is
  // differentiated by extrapolated differences
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  const auto& block = *body.block;
  const auto along = [&](const std::vector<double>& x, const std::vector<double>& d, double s) {
    std::vector<double> moved = x;
    for (std::size_t i = 0; i < x.size(); ++i) moved[i] += s * d[i];
    return moved;
  };
  for (int trial = 0; trial < 5; ++trial) {
    std::vector<double> d(body.v.size());
    for (double& x : d) x = normal(random);
    const double inertia = 0.5 * (CalcKineticEnergy(block, q0, along(body.v, d, 1)) -
                                  CalcKineticEnergy(block, q0, along(body.v, d, -1)));
    const auto slope = [&](double s) {
      return (CalcElasticEnergy(block, along(body.q, d, s)) -
              CalcElasticEnergy(block, along(body.q, d, -s))) /
             (2 * s);
    };
    const double s = 1e-3 * kEdge;
    const double elastic = (4 * slope(s / 2) - slope(s)) / 3;
    const double weight = block.mass(0) * gravity.dot(block.CalcCenterOfMass({d, {}}, 0));
    EXPECT_NEAR(inertia + h * (elastic - weight), 0,
                1e-6 * (std::abs(inertia) + h * std::abs(elastic)));
  }
}

TEST_P(EveryBody, TheLinearisedMomentumVanishesAtTheFreeMotion) {
  FemParameters p = MakePatch(GetParam());
  p.rayleigh_alpha = 0.4;
  p.rayleigh_beta = 0.02;
  p.prescribed = {{0, -1, {}}, {1, -1, {}}, {5, -1, {}}};
  Moving body(p);
  body.Disturb(0.1 * kEdge, 5);
  BlockInputs inputs;
  inputs.targets = {{}};
  for (const auto& [theta, theta_vq] : {std::pair{1.0, 1.0}, {0.5, 0.5}, {0.0, 1.0}}) {
    ASSERT_TRUE(
        PoseBlock(*body.step, {1e-4, theta, theta_vq, {0, 0, -9.81}}, body.q, body.v, inputs).ok());
    const std::vector<int> participants{2, 7, 9};
    ASSERT_TRUE(body.step->Factor(participants).ok());
    std::vector<double> v(body.v.size()), v_p, residual(v.size()), start(v.size());
    body.step->CalcFreeMotion(v);
    for (const int node : participants) v_p.insert(v_p.end(), &v[3 * node], &v[3 * node] + 3);
    body.step->Complete(v_p, v);
    body.step->CalcMomentumResidual(v, residual);
    body.step->CalcMomentumResidual(body.v, start);
    double size = 0;
    for (const double r : start) size = std::max(size, std::abs(r));
    for (const double r : residual) EXPECT_LT(std::abs(r), 1e-12 * size);
  }
}

TEST_P(RecoveringBody, InvertedElementsRecover) {
  FemParameters p = MakePatch(GetParam());
  p.rayleigh_beta = 0.01;
  Moving body(p);
  const double volume = body.block->abilities().elements->CalcVolume({body.q, {}}, 0);
  body.Disturb(0.8 * kEdge, 6);
  const std::vector<double> ratios = body.Field(FieldMeasure::kVolumeRatio);
  EXPECT_GT(std::count_if(ratios.begin(), ratios.end(), [](double J) { return J < 0; }), 5);
  for (int k = 0; k < 200; ++k) {
    const absl::Status status = body.Step({0.01, 1, 1, Vector3d::Zero()});
    ASSERT_TRUE(status.ok()) << k << ": " << status.message();
  }
  for (const double J : body.Field(FieldMeasure::kVolumeRatio)) EXPECT_NEAR(J, 1, 1e-2);
  EXPECT_NEAR(body.block->abilities().elements->CalcVolume({body.q, {}}, 0), volume, 1e-2 * volume);
}

// Largest difference of positions from a run with a 16 times shorter step, after about one period
// of free vibration. The body starts stretched, and spins about z [rad/s].
double CalcTimeError(const FemParameters& p, double spin, double theta, double theta_vq,
                     int steps) {
  const double duration = 0.02;  // [s]
  const auto run = [&](int count) {
    Moving body(p);
    body.Deform(Vector3d(1.1, 0.95, 1).asDiagonal());
    for (int i = 0; i < body.block->abilities().nodes->num_nodes(); ++i) {
      body.v[3 * i] = -spin * body.q[3 * i + 1];
      body.v[3 * i + 1] = spin * body.q[3 * i];
    }
    for (int k = 0; k < count; ++k) {
      const absl::Status status = body.Step({duration / count, theta, theta_vq, Vector3d::Zero()});
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return body.q;
  };
  const std::vector<double> coarse = run(steps), fine = run(16 * steps);
  double error = 0;
  for (std::size_t i = 0; i < fine.size(); ++i)
    error = std::max(error, std::abs(coarse[i] - fine[i]));
  return error;
}

double CalcTimeOrder(const Sort& sort, double spin, double theta, double theta_vq, int steps) {
  FemParameters p = MakePatch(sort);
  p.mesh = *MeshBox({kEdge, 0.8 * kEdge, 0.9 * kEdge}, kEdge);
  return std::log2(CalcTimeError(p, spin, theta, theta_vq, steps) /
                   CalcTimeError(p, spin, theta, theta_vq, 2 * steps));
}

TEST_P(EveryBody, TimeIntegrationHasTheOrderOfItsTheta) {
  EXPECT_NEAR(CalcTimeOrder(GetParam(), 0, 1, 1, 800), 1, 0.2);
  EXPECT_NEAR(CalcTimeOrder(GetParam(), 0, 0.5, 0.5, 100), 2, 0.2);
  EXPECT_NEAR(CalcTimeOrder(GetParam(), 0, 0, 1, 200), 1, 0.2);
}

// A rotation lagged over a step is first-order accurate, which shows once the body rotates.
TEST(TimeIntegration, LaggedRotationsAreOfFirstOrderWhereABodyTurns) {
  const double spin = 50;  // 1 rad in total
  EXPECT_NEAR(CalcTimeOrder({FindMaterial("LINEAR_COROTATIONAL")}, spin, 0.5, 0.5, 100), 1, 0.2);
  EXPECT_NEAR(CalcTimeOrder({FindMaterial("COROTATIONAL")}, spin, 0.5, 0.5, 100), 2, 0.2);
}

TEST(Newton, WithoutProjectionAnIndefiniteTangentIsAnErrorThatNamesTheElement) {
  FemParameters p = MakePatch({FindMaterial("COROTATIONAL")});
  p.newton.projection = false;
  Moving body(p);
  body.Disturb(0.6 * kEdge, 6);
  const absl::Status status =
      PoseBlock(*body.step, {1, 1, 1, Vector3d::Zero()}, body.q, body.v, {});
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find("not positive definite at vertex"),
            std::string::npos)
      << status.message();
  EXPECT_NE(std::string(status.message()).find("; tetrahedron "), std::string::npos)
      << status.message();
}

TEST(Newton, AStiffBodyAtRestIsSolvedThoughItsForcesAreAllRounding) {
  // bulk modulus over shear modulus is 1500 and there is no gravity, so residuals are pure rounding
  FemParameters p = MakePatch({FindMaterial("MOONEY_RIVLIN")});
  p.materials[0].parameters = {2.93e5, 1.77e5, 1.41e9};
  p.rayleigh_beta = 0.5;
  Moving body(p);
  const std::vector<double> start = body.q;
  for (int k = 0; k < 10; ++k) {
    const absl::Status status = body.Step({0.01, 1, 1, Vector3d::Zero()});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  for (std::size_t i = 0; i < start.size(); ++i) EXPECT_NEAR(body.q[i], start[i], 1e-12 * kEdge);
}

TEST(Newton, ForcesThatAreNotFiniteNameTheElement) {
  for (const char* name : {"LINEAR_COROTATIONAL", "NEO_HOOKEAN"}) {
    const FemParameters p = MakePatch({FindMaterial(name)});
    Moving body(p);
    body.q[3] = std::numeric_limits<double>::infinity();
    const absl::Status status =
        PoseBlock(*body.step, {0.01, 1, 1, Vector3d::Zero()}, body.q, body.v, {});
    EXPECT_FALSE(status.ok()) << name;
    EXPECT_NE(std::string(status.message()).find("tetrahedron "), std::string::npos)
        << status.message();
  }
}

TEST(Regions, ElementsOfSeveralMaterialsKeepTheirPlaceAndTheirMaterial) {
  FemParameters p = MakePatch({FindMaterial("LINEAR_COROTATIONAL")});
  p.materials.push_back({FindMaterial("NEO_HOOKEAN"), {3e5, 0.2}, 500});
  p.materials.push_back({FindMaterial("MOONEY_RIVLIN"), {2e4, 1e4, 4e5}, 2000});
  p.materials.push_back({FindMaterial("NEO_HOOKEAN"), {1e5, 0.45}, 700});
  const int count = static_cast<int>(p.mesh.tetrahedra.size());
  double mass = 0;
  for (int e = 0; e < count; ++e) {
    p.element_material.push_back(e * e % 7 % 4);
    FemParameters alone = p;
    alone.mesh.tetrahedra = {p.mesh.tetrahedra[e]};
    mass += p.materials[p.element_material[e]].density * CalcVolume(alone.mesh);
  }
  Moving mixed(p);
  mixed.Disturb(0.1 * kEdge, 3);
  EXPECT_NEAR(mixed.block->mass(0), mass, 1e-12 * mass);
  const std::vector<double> stress = mixed.Field(FieldMeasure::kVonMisesStress);
  double energy = 0;
  std::vector<double> force(mixed.q.size(), 0.0);
  for (int m = 0; m < 4; ++m) {
    // the same body of one material, and its elements alone
    FemParameters uniform = p;
    uniform.materials = {p.materials[m]};
    uniform.element_material.clear();
    Moving body(uniform);
    body.q = mixed.q;
    const std::vector<double> expected = body.Field(FieldMeasure::kVonMisesStress);
    FemParameters part = uniform;
    part.mesh.tetrahedra.clear();
    for (int e = 0; e < count; ++e) {
      if (p.element_material[e] != m) continue;
      EXPECT_NEAR(stress[e], expected[e], 1e-12 * expected[e]);
      part.mesh.tetrahedra.push_back(p.mesh.tetrahedra[e]);
    }
    energy += CalcElasticEnergy(*Moving(part).block, mixed.q);
    const std::vector<double> of_part = InternalForces(part, mixed.q);
    for (std::size_t i = 0; i < force.size(); ++i) force[i] += of_part[i];
  }
  EXPECT_NEAR(CalcElasticEnergy(*mixed.block, mixed.q), energy, 1e-12 * energy);
  const std::vector<double> all = InternalForces(p, mixed.q);
  for (std::size_t i = 0; i < force.size(); ++i) EXPECT_NEAR(all[i], force[i], 1e-9);
}

TEST(PlaneStrain, NothingMovesOrChangesAlongTheNormal) {
  for (const char* name : {"LINEAR_COROTATIONAL", "NEO_HOOKEAN"}) {
    FemParameters p = MakePatch({FindMaterial(name)});
    p.plane_strain = true;
    // the body's z is the world's y
    p.X_WB.R << 1, 0, 0, 0, 0, 1, 0, -1, 0;
    Moving body(p);
    const std::vector<double> start = body.q;
    Matrix3d F = Vector3d(1.1, 1, 0.93).asDiagonal();
    body.Deform(F);
    for (const double J : body.Field(FieldMeasure::kVolumeRatio)) EXPECT_NEAR(J, 1.1 * 0.93, 1e-12);
    // displacements of vertices along the normal have no effect
    std::vector<double> shifted = body.q;
    for (std::size_t i = 1; i < shifted.size(); i += 3) shifted[i] *= 1.3;
    std::vector<double> ratio(body.block->abilities().elements->num_elements());
    body.block->abilities().elements->CalcElementField(FieldMeasure::kVolumeRatio, {shifted, {}},
                                                       ratio);
    for (const double J : ratio) EXPECT_NEAR(J, 1.1 * 0.93, 1e-12);

    for (int k = 0; k < 20; ++k) ASSERT_TRUE(body.Step({0.002, 1, 1, {1, -9.81, 3}}).ok());
    double motion = 0;
    for (std::size_t i = 0; i < start.size(); i += 3) {
      EXPECT_EQ(body.q[i + 1], start[i + 1]);
      motion = std::max(motion, std::abs(body.q[i] - 1.1 * start[i]));
    }
    EXPECT_GT(motion, 1e-3);
    // a point's rows have no component out of the plane
    BlockRows rows;
    Attachment point;
    point.nodes = {{4, 1.0}};
    body.step->AppendRows(point, &rows);
    const double* J = rows.only_matrix();
    EXPECT_EQ(Matrix3d(Eigen::Map<const Matrix3d>(J)), Matrix3d(Vector3d(1, 0, 1).asDiagonal()));
  }
}

// A tangent is stale where elements have rotated or deformed far from where it was computed.
// Newton's method then continues from there.
TEST(Relinearisation, FindsTheFreeMotionAgainFromVelocitiesFarOffIt) {
  Moving body(MakePatch({FindMaterial("NEO_HOOKEAN")}));
  ASSERT_TRUE(PoseBlock(*body.step, {0.01, 1, 1, {0, 0, -9.81}}, body.q, body.v, {}).ok());
  ASSERT_TRUE(body.step->Factor({}).ok());
  std::vector<double> free(body.v.size());
  body.step->CalcFreeMotion(free);
  NonlinearBalance& balance = *body.step->abilities().nonlinear;
  EXPECT_FALSE(balance.IsStale(free));

  // shear by 0.3 within the step
  std::vector<double> v = free;
  for (int i = 0; i < body.block->abilities().nodes->num_nodes(); ++i)
    v[3 * i] += 30 * body.q[3 * i + 2];
  int rounds = 0;
  for (; rounds < 20 && balance.IsStale(v); ++rounds) {
    ASSERT_TRUE(balance.Linearise(v, TangentKind::kExact).ok());
    ASSERT_TRUE(body.step->Factor({}).ok());
    body.step->CalcFreeMotion(v);
  }
  EXPECT_GE(rounds, 1);
  EXPECT_LT(rounds, 20);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    error = std::max(error, std::abs(v[i] - free[i]));
    size = std::max(size, std::abs(free[i]));
  }
  // the free motion is g h [m/s], found to Newton's tolerance for the residual, 1e-8
  EXPECT_GT(size, 0.09);
  EXPECT_LT(error, 1e-8 * size);
}

TEST(Relinearisation, IsNotForMomentumThatIsLinear) {
  Moving body(MakePatch({FindMaterial("LINEAR_COROTATIONAL")}));
  EXPECT_EQ(body.step->abilities().nonlinear, nullptr);
}

}  // namespace
}  // namespace pliant::physics
