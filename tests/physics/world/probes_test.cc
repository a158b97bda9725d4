#include "physics/world/probes.h"

#include <cmath>

#include <gtest/gtest.h>

#include "physics/spatial/trig.h"
#include "physics/world/world.h"
#include "tests/physics/world/small_models.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

Probe MakeProbe(Probe::Kind kind, int body, int other = -1) {
  Probe probe;
  probe.kind = kind;
  probe.body = body;
  probe.other = other;
  return probe;
}

Vector3d AsVector(const ProbeValue& value, int first = 0) {
  return {value.numbers.at(first), value.numbers.at(first + 1), value.numbers.at(first + 2)};
}

// A ball on the ground, at rest after one second.
class RestingBall : public ::testing::Test {
 protected:
  RestingBall() : world_(MakeModel()) {
    for (int k = 0; k < 100; ++k) EXPECT_TRUE(world_.Step().ok());
  }

  static std::shared_ptr<const Model> MakeModel() {
    Model model;
    AddGround(&model);
    AddBall(&model, "ball", Vector3d(0.5, 0, 0.1));
    return Finish(std::move(model));
  }

  ProbeValue Sample(const Probe& probe) const {
    return SampleProbe(world_.model(), probe, world_.state(), world_.report(), 0.01);
  }

  World world_;
};

TEST_F(RestingBall, ContactForceIsItsWeightOnEitherSide) {
  const double weight = 2 * 9.81;
  EXPECT_NEAR(AsVector(Sample(MakeProbe(Probe::Kind::kContactForce, 1))).z(), weight,
              1e-5 * weight);
  EXPECT_NEAR(AsVector(Sample(MakeProbe(Probe::Kind::kContactForce, 0, 1))).z(), -weight,
              1e-5 * weight);
}

TEST_F(RestingBall, ForcesOfBodiesThatDoNotTouchAreZero) {
  EXPECT_EQ(AsVector(Sample(MakeProbe(Probe::Kind::kContactForce, 1, 1))), Vector3d::Zero());
}

TEST_F(RestingBall, WrenchIsAboutTheCentreOfMass) {
  // the force passes through the centre, so there is no torque, although the ball is off the origin
  const ProbeValue wrench = Sample(MakeProbe(Probe::Kind::kWrench, 1));
  EXPECT_NEAR(AsVector(wrench, 3).norm(), 0, 1e-9);
}

TEST_F(RestingBall, ContactPointsAddUpToTheImpulse) {
  const ProbeValue rows = Sample(MakeProbe(Probe::Kind::kContactPoints, 0, 1));
  ASSERT_TRUE(rows.is_rows);
  ASSERT_EQ(rows.rows.size(), 1u);
  const std::vector<double>& row = rows.rows.front();
  ASSERT_EQ(row.size(), 10u);
  EXPECT_NEAR(row[0], 0.5, 1e-12);
  EXPECT_NEAR(row[5], 1, 1e-12);               // normal from the ground into the ball
  EXPECT_NEAR(row[9], 2 * 9.81 * 0.01, 1e-6);  // impulse on the ball
  const std::vector<double> turned =
      Sample(MakeProbe(Probe::Kind::kContactPoints, 1, 0)).rows.front();
  EXPECT_NEAR(turned[5], -1, 1e-12);
  EXPECT_NEAR(turned[9], -2 * 9.81 * 0.01, 1e-6);
}

TEST_F(RestingBall, PenetrationIsThatOfThisState) {
  const double depth = 0.1 - world_.state().q[6];
  EXPECT_GT(depth, 0);
  EXPECT_NEAR(Sample(MakeProbe(Probe::Kind::kPenetration, -1)).numbers[0], depth, 1e-12);
  EXPECT_NEAR(Sample(MakeProbe(Probe::Kind::kPenetration, 0, 1)).numbers[0], depth, 1e-12);
}

TEST(Probes, PenetrationIsZeroApart) {
  Model model;
  AddGround(&model);
  AddBall(&model, "ball", Vector3d(0, 0, 0.1015));  // within the margin
  const World world(Finish(std::move(model)));
  const ProbeValue value = SampleProbe(world.model(), MakeProbe(Probe::Kind::kPenetration, -1),
                                       world.state(), world.report(), 0.01);
  EXPECT_EQ(value.numbers[0], 0);
}

TEST(Probes, PointsOnRigidBodiesMoveWithThem) {
  Model model;
  model.gravity.setZero();
  const int paddle = AddPaddle(&model, {});
  World world(Finish(std::move(model)));
  // a quarter turn about z in one step of 10 ms
  Inputs inputs;
  inputs.poses.push_back(
      {paddle, {RotationFromVector({0, 0, kPi / 2}).toRotationMatrix(), Vector3d(1, 0, 0)}});
  ASSERT_TRUE(world.Step(inputs).ok());

  Probe point = MakeProbe(Probe::Kind::kPosition, paddle);
  point.has_point = true;
  point.p_BP = Vector3d(0.2, 0, 0);
  EXPECT_NEAR((AsVector(SampleProbe(world.model(), point, world.state(), world.report(), 0.01)) -
               Vector3d(1, 0.2, 0))
                  .norm(),
              0, 1e-14);
  const ProbeValue turned = SampleProbe(world.model(), MakeProbe(Probe::Kind::kOrientation, paddle),
                                        world.state(), world.report(), 0.01);
  EXPECT_NEAR(turned.numbers[0], std::sqrt(0.5), 1e-14);
  EXPECT_NEAR(turned.numbers[3], std::sqrt(0.5), 1e-14);
  const Vector3d omega =
      AsVector(SampleProbe(world.model(), MakeProbe(Probe::Kind::kAngularVelocity, paddle),
                           world.state(), world.report(), 0.01));
  EXPECT_NEAR(omega.z(), kPi / 2 / 0.01, 1e-10);
}

TEST(Probes, FreeFallTradesPotentialForKineticEnergy) {
  Model model;
  const int ball = AddBall(&model, "ball", Vector3d(0, 0, 3), Vector3d(1, 0, 0));
  World world(Finish(std::move(model)));
  const Energies start = CalcEnergies(world.model(), world.state(), ball);
  EXPECT_DOUBLE_EQ(start.kinetic, 1);
  EXPECT_DOUBLE_EQ(start.potential, 2 * 9.81 * 3);
  for (int k = 0; k < 50; ++k) ASSERT_TRUE(world.Step().ok());
  const Energies end = CalcEnergies(world.model(), world.state(), -1);
  // backward Euler loses m g² h t / 2
  const double lost = 2 * 9.81 * 9.81 * 0.01 * 0.5 / 2;
  EXPECT_NEAR(end.kinetic + end.potential, start.kinetic + start.potential - lost, 1e-10);
}

TEST(Probes, DeformedTetrahedronReadsItsStretch) {
  Model model;
  const RigidTransform X_WB{RotationFromVector({0.4, 0.5, -0.3}).toRotationMatrix(),
                            Vector3d(2, 1, 0)};
  const int tet = AddTetrahedron(&model, X_WB);
  const World world(Finish(std::move(model)));
  // stretch to twice the length along its own z
  State state = world.state();
  const RigidTransform X = X_WB;
  for (int i = 0; i < 4; ++i) {
    Vector3d p = world.model().bodies[tet].mesh.vertices[i];
    p.z() *= 2;
    const Vector3d p_W = X * p;
    for (int k = 0; k < 3; ++k) state.q[3 * i + k] = p_W[k];
  }
  const auto sample = [&](Probe probe) {
    return SampleProbe(world.model(), probe, state, {}, 0.01).numbers;
  };
  EXPECT_NEAR(sample(MakeProbe(Probe::Kind::kVolume, tet))[0], 1.0 / 3, 1e-14);
  Probe field = MakeProbe(Probe::Kind::kField, tet);
  field.measure = FieldMeasure::kVolumeRatio;
  for (const Probe::Reduce reduce :
       {Probe::Reduce::kMin, Probe::Reduce::kMax, Probe::Reduce::kMean}) {
    field.reduce = reduce;
    EXPECT_NEAR(sample(field)[0], 2, 1e-13);
  }
  field.measure = FieldMeasure::kPrincipalStretch;
  EXPECT_NEAR(sample(field)[0], 2, 1e-13);

  for (const double ratio :
       CalcVertexField(world.model(), state, {}, tet, FieldMeasure::kVolumeRatio, 0.01)) {
    EXPECT_NEAR(ratio, 2, 1e-13);
  }
  // tensors have all of their components, for elements and for vertices
  field.measure = FieldMeasure::kPrincipalStretches;
  EXPECT_EQ(CountProbeNumbers(field), 3);
  EXPECT_NEAR(sample(field)[0], 2, 1e-13);
  EXPECT_NEAR(sample(field)[2], 1, 1e-13);
  field.measure = FieldMeasure::kGreenStrain;
  EXPECT_EQ(CountProbeNumbers(field), 6);
  EXPECT_NEAR(sample(field)[2], 1.5, 1e-13);
  const std::vector<double> directions =
      CalcVertexField(world.model(), state, {}, tet, FieldMeasure::kPrincipalDirections, 0.01);
  ASSERT_EQ(directions.size(), 36u);
  EXPECT_NEAR(std::abs(VectorAt(directions, 27).dot(X.R.col(2))), 1, 1e-13);
  const std::vector<double> stretches =
      CalcVertexField(world.model(), state, {}, tet, FieldMeasure::kPrincipalStretches, 0.01);
  EXPECT_NEAR(stretches[9], 2, 1e-13);
  EXPECT_NEAR(stretches[11], 1, 1e-13);

  Probe vertex = MakeProbe(Probe::Kind::kPosition, tet);
  vertex.node = 3;
  EXPECT_NEAR(sample(vertex)[2], (X * Vector3d(0, 0, 2)).z(), 1e-14);
}

TEST(Probes, MomentumOfTheWorldIsTheSumOverItsBodies) {
  Model model;
  AddBall(&model, "a", Vector3d(0, 1, 0), Vector3d(1, 0, 0));
  AddBall(&model, "b", Vector3d(0, 0, 0), Vector3d(0, 2, 0));
  const World world(Finish(std::move(model)));
  const auto numbers = [&](int body) {
    return SampleProbe(world.model(), MakeProbe(Probe::Kind::kMomentum, body), world.state(), {},
                       0.01)
        .numbers;
  };
  EXPECT_EQ(numbers(-1), (std::vector<double>{2, 4, 0, 0, 0, -2}));
  EXPECT_EQ(numbers(0), (std::vector<double>{2, 0, 0, 0, 0, -2}));
}

TEST(Probes, CountsMatchWhatIsSampled) {
  Model model;
  AddGround(&model);
  AddBall(&model, "ball", Vector3d(0, 0, 0.1));
  const int tet = AddTetrahedron(&model, {Eigen::Matrix3d::Identity(), Vector3d(3, 0, 1)});
  const World world(Finish(std::move(model)));
  for (int kind = 0; kind <= static_cast<int>(Probe::Kind::kContactPoints); ++kind) {
    const Probe probe = MakeProbe(static_cast<Probe::Kind>(kind), tet);
    const ProbeValue value = SampleProbe(world.model(), probe, world.state(), world.report(), 0.01);
    EXPECT_EQ(static_cast<int>(value.numbers.size()), CountProbeNumbers(probe)) << kind;
  }
}

}  // namespace
}  // namespace pliant::physics
