// Steps that do not converge or that gain energy are divided.

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// A small ellipsoid that meets the ground so fast that, within a step, the point and the direction
// of the contact depend on its force too much for recursions to converge. Beside it a box sleeps, a
// plate is moved, and a bob swings on a ball joint.
std::string FastEllipsoid(const std::string& options) {
  return R"(
name: fast_ellipsoid
time_step: 0.01
method: {corrective: {}}
contact: {friction: 0}
)" + options +
         R"(
bodies:
  - name: ground
    rigid: {motion: FIXED, shapes: [{box: {size: [6, 6, 0.4]}, pose: {position: [0, 0, -0.2]}}]}
  - name: ellipsoid
    rigid:
      motion: FREE
      density: 4400
      shapes: [{ellipsoid: {radii: [0.02491, 0.02358, 0.01472]}}]
      pose: {position: [-0.1176, -0.05139, 0.05665], rpy_degrees: [25.86, 9.679, 92.32]}
      velocity: {linear: [0.926, 0.44, 2.701], angular: [-5.22, -20.15, -23.34]}
  - name: sleeper
    rigid:
      motion: FREE
      density: 1000
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]
      pose: {position: [-2, 0, 0.05]}
  - name: plate
    rigid:
      motion: KINEMATIC
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]
      pose: {position: [-2, 2, 1]}
  - name: bob
    rigid:
      motion: FREE
      density: 1000
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]
      pose: {position: [2, 2, 1]}
      velocity: {linear: [0.3, 0.5, 0]}
constraints:
  - {name: string, ball: {a: world, b: bob, point: [2, 2, 1.5]}}
probes:
  - {name: pull, reaction: {constraint: string}}
  - {name: momentum, momentum: {body: bob}}
script:
  - target: {pose: plate}
    times: [0, 1]
    values: [[-2, 2, 1, 1, 0, 0, 0], [-1, 2, 1, 0.7071067811865476, 0, 0, 0.7071067811865476]]
)";
}

TEST(Substeps, ConvergeWhereTheWholeStepDoesNot) {
  World whole = LoadWorld(FastEllipsoid("max_substeps: 1"));
  World divided = LoadWorld(FastEllipsoid(""));
  int missed = 0, halved = 0;
  for (int k = 0; k < 60; ++k) {
    ASSERT_TRUE(whole.Step().ok());
    missed += !whole.report().converged;
    ASSERT_TRUE(divided.Step().ok());
    EXPECT_TRUE(divided.report().converged) << k;
    halved += static_cast<int>(divided.report().compromises[Compromise::kHalved]);
  }
  EXPECT_GT(missed, 0);
  EXPECT_GT(halved, 0);
}

TEST(Substeps, AreReportedAsOneStep) {
  World world = LoadWorld(FastEllipsoid(""));
  const Model& model = world.model();
  const int ellipsoid = FindBody(model, "ellipsoid"), plate = FindBody(model, "plate");
  bool any_halved = false;
  for (int k = 1; k <= 60; ++k) {
    const double before = CalcBodyMotion(model, world.state(), ellipsoid).v_W.z();
    ASSERT_TRUE(world.Step().ok());
    any_halved = any_halved || world.report().compromises[Compromise::kHalved] > 0;
    EXPECT_EQ(world.state().step, k);
    EXPECT_EQ(world.state().time, k * 0.01);

    // impulses of all substeps are reported
    double impulse = 0;
    for (const ContactForce& contact : world.report().contacts)
      if (contact.body_b == ellipsoid || contact.body_a == ellipsoid)
        impulse += (contact.body_b == ellipsoid ? 1 : -1) * contact.impulse_W.z();
    const double after = CalcBodyMotion(model, world.state(), ellipsoid).v_W.z();
    const double mass = model.bodies[ellipsoid].mass;
    EXPECT_NEAR(mass * (after - before + 0.01 * 9.81), impulse, 1e-6 * mass) << k;

    // prescribed bodies are where the script says
    EXPECT_NEAR(CalcBodyPose(model, world.state(), plate).p.x(), -2 + k * 0.01, 1e-12);
  }
  EXPECT_TRUE(any_halved);
}

TEST(Substeps, AddUpToTheReactionOfTheWholeStep) {
  World world = LoadWorld(FastEllipsoid(""));
  const double mass = world.model().bodies[FindBody(world.model(), "bob")].mass;
  const double weight = mass * kGravity;
  bool any_halved = false;
  for (int k = 0; k < 60; ++k) {
    const Vector3d before = ReadVector(world, "momentum");
    ASSERT_TRUE(world.Step().ok());
    any_halved = any_halved || world.report().compromises[Compromise::kHalved] > 0;
    const Vector3d force = (ReadVector(world, "momentum") - before) / 0.01;
    EXPECT_LT((ReadVector(world, "pull") - force - Vector3d(0, 0, weight)).norm(), 1e-12 * weight)
        << k;
  }
  EXPECT_TRUE(any_halved);
}

TEST(Substeps, LeaveSleepersAsleep) {
  World world = LoadWorld(FastEllipsoid(""));
  const int sleeper = FindBody(world.model(), "sleeper");
  double weight = world.model().bodies[sleeper].mass * 9.81;
  bool halved_beside_sleeper = false;
  for (int k = 0; k < 60; ++k) {
    ASSERT_TRUE(world.Step().ok());
    double impulse = 0;
    for (const ContactForce& contact : world.report().contacts)
      if (contact.body_b == sleeper || contact.body_a == sleeper)
        impulse += std::abs(contact.impulse_W.z());
    const bool is_halved = world.report().compromises[Compromise::kHalved] > 0;
    if (k < 30) continue;
    EXPECT_GE(world.report().asleep, 1) << k;
    EXPECT_NEAR(impulse, 0.01 * weight, 1e-4 * weight) << k << (is_halved ? ", halved" : "");
    halved_beside_sleeper = halved_beside_sleeper || is_halved;
  }
  EXPECT_TRUE(halved_beside_sleeper);
}

TEST(Substeps, AreNotTakenUnderLimitsOfTheMethod) {
  std::string scene = FastEllipsoid("");
  scene.replace(scene.find("corrective: {}"), 14, "corrective: {recursions: 5}");
  World limited = LoadWorld(scene);
  EXPECT_EQ(limited.model().max_substeps, 1);
  int missed = 0;
  for (int k = 0; k < 60; ++k) {
    ASSERT_TRUE(limited.Step().ok());
    missed += !limited.report().converged;
    EXPECT_EQ(limited.report().compromises[Compromise::kHalved], 0);
  }
  EXPECT_GT(missed, 0);
}

// One Newton iteration does not suffice for the impact, whole or in halves. The halves gain no
// energy.
TEST(Substeps, ReplaceAStepThatGainsEnergyEvenIfTheyDoNotConverge) {
  const auto run = [](const std::string& max_substeps, bool* any_missed_halved) {
    std::string scene = FastEllipsoid("max_substeps: " + max_substeps);
    scene.replace(scene.find("corrective: {}"), 14, "smooth: {max_iterations: 1}");
    scene.replace(scene.find("friction: 0"), 11, "friction: 0.5");
    World world = LoadWorld(scene);
    world.WatchEnergy(true);
    double gain = 0;
    for (int k = 0; k < 60; ++k) {
      EXPECT_TRUE(world.Step().ok());
      const StepReport& report = world.report();
      gain = std::max(gain, report.energy.gain());
      *any_missed_halved =
          *any_missed_halved || (!report.converged && report.compromises[Compromise::kHalved] > 0);
    }
    return gain;
  };
  bool any_missed_halved = false;
  EXPECT_GT(run("1", &any_missed_halved), 1);
  EXPECT_FALSE(any_missed_halved);
  EXPECT_LT(run("2", &any_missed_halved), 0.01);
  EXPECT_TRUE(any_missed_halved);
}

TEST(Substeps, AreTakenWhereTheProblemIsDescribed) {
  World plain = LoadWorld(FastEllipsoid("")), described = LoadWorld(FastEllipsoid(""));
  ContactProblem problem;
  described.Describe(&problem);
  double halved = 0, of_whole = 0;
  for (int k = 0; k < 60; ++k) {
    ASSERT_TRUE(plain.Step().ok());
    ASSERT_TRUE(described.Step().ok());
    halved += plain.report().compromises[Compromise::kHalved];
    of_whole += problem.h == 0.01;
  }
  EXPECT_GT(halved, 0);
  EXPECT_EQ(of_whole, 60);
  EXPECT_EQ(plain.state().q, described.state().q);
  EXPECT_EQ(plain.state().v, described.state().v);
}

// Contacts that push bodies out of each other supply energy, in halves of a step as in the whole.
TEST(Substeps, AreNotDividedFurtherWhileBodiesOverlapDeeply) {
  World world = LoadWorld(R"(
name: overlap
time_step: 0.02
contact: {friction: 1, patches: POLYGONS}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: cushion
    deformable:
      mesh: {box: {size: [0.3, 0.3, 0.1]}, edge_length: 0.03}
      pose: {position: [0, 0, 0.05]}
      material: {youngs_modulus: 1.0e4, poissons_ratio: 0.4, density: 100}
      damping: {beta: 0.01}
  - name: press
    rigid:
      motion: KINEMATIC
      pose: {position: [0.05, 0, 0.11], rpy_degrees: [0, 20, 0]}
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]
)");
  double shallowest = 1;
  for (int k = 0; k < 10; ++k) {
    ASSERT_TRUE(world.Step().ok());
    const StepReport& report = world.report();
    double depth = 0;
    for (const ContactForce& contact : report.contacts) depth = std::max(depth, -contact.gap);
    shallowest = std::min(shallowest, depth);
    EXPECT_LE(
        report.compromises[Compromise::kHalved] + report.compromises[Compromise::kHalvedInVain], 1)
        << k;
  }
  EXPECT_GT(shallowest, 0.01);
}

}  // namespace
}  // namespace pliant::physics
