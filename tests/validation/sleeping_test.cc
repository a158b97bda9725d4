// Bodies at rest sleep: they cost nothing, keep their forces, and wake when something acts on them.

#include <string>

#include "absl/strings/str_cat.h"

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Two stacked crates on a floor, a third crate apart from them, a ball far above, and a prescribed
// pusher beside them.
std::string CratesScene(const std::string& more = "") {
  return R"(
time_step: 0.005
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: lower, rigid: {motion: FREE, density: 500, pose: {position: [0, 0, 0.1]},
      shapes: [{box: {size: [0.2, 0.2, 0.2]}}]}}
  - {name: upper, rigid: {motion: FREE, density: 500, pose: {position: [0.02, 0, 0.3]},
      shapes: [{box: {size: [0.2, 0.2, 0.2]}}]}}
  - {name: apart, rigid: {motion: FREE, density: 500, pose: {position: [1, 0, 0.1]},
      shapes: [{box: {size: [0.2, 0.2, 0.2]}}]}}
  - {name: pusher, rigid: {motion: KINEMATIC, pose: {position: [-0.2, 0, 0.1]},
      shapes: [{box: {size: [0.18, 0.1, 0.1]}}]}}
probes:
  - {name: weight, contact_force: {body: floor}}
  - {name: p, position: {body: lower}}
  - {name: v, velocity: {body: lower}}
)" + more;
}

constexpr double kCrateWeight = 4 * kGravity;  // [N]

TEST(Sleeping, CratesAtRestSleepAndKeepTheirForces) {
  World world = LoadWorld(CratesScene());
  RunUntil(1, &world);
  EXPECT_EQ(world.report().asleep, 3);
  EXPECT_EQ(world.report().participating, 0);
  EXPECT_EQ(world.report().iterations, 0);
  EXPECT_NEAR(Read(world, "weight")[2], -3 * kCrateWeight, 1e-5 * kCrateWeight);
  EXPECT_EQ(ReadVector(world, "v"), Vector3d(Vector3d::Zero()));
  const std::vector<double> q = world.state().q;
  RunUntil(2, &world);
  EXPECT_EQ(world.state().q, q);
  EXPECT_EQ(world.state().contacts.size(), 12u);
}

TEST(Sleeping, ChangesNoForceAndNoPlace) {
  World sleeping = LoadWorld(CratesScene()), awake = LoadWorld(CratesScene("sleeping: false\n"));
  RunUntil(2, &sleeping);
  RunUntil(2, &awake);
  EXPECT_EQ(awake.report().asleep, 0);
  // a sleeping body was slower than 1e-6 m/s, here for at most 2 s
  EXPECT_LT((ReadVector(sleeping, "p") - ReadVector(awake, "p")).norm(), 2e-6);
  EXPECT_NEAR(Read(sleeping, "weight")[2], Read(awake, "weight")[2], 1e-6 * kCrateWeight);
}

TEST(Sleeping, AForceWakesItsIslandAndNoOther) {
  World world = LoadWorld(CratesScene());
  RunUntil(1, &world);
  Inputs inputs;
  inputs.forces.push_back({.body = FindBody(world.model(), "upper"), .force_W = {0, 0, -1}});
  // near-rigid contacts take a few steps to relax
  for (int k = 0; k < 20; ++k) ASSERT_TRUE(world.Step(inputs).ok());
  EXPECT_EQ(world.report().asleep, 1);  // the separate crate
  EXPECT_NEAR(Read(world, "weight")[2], -3 * kCrateWeight - 1, 1e-4);
  RunUntil(2, &world);
  EXPECT_EQ(world.report().asleep, 3);
}

TEST(Sleeping, APushedCrateWakesAndSlidesAsOneThatNeverSlept) {
  const std::string push =
      "script: [{target: {pose: pusher}, times: [1, 2], values: [[-0.2, 0, 0.1], [-0.1, 0, "
      "0.1]]}]\n";
  World sleeping = LoadWorld(CratesScene(push)),
        awake = LoadWorld(CratesScene(push + "sleeping: false\n"));
  RunUntil(1, &sleeping);
  EXPECT_EQ(sleeping.report().asleep, 3);
  RunUntil(1.5, &sleeping);
  RunUntil(1.5, &awake);
  EXPECT_EQ(sleeping.report().asleep, 1);
  EXPECT_GT(ReadVector(sleeping, "p").x(), 0.03);
  EXPECT_LT((ReadVector(sleeping, "p") - ReadVector(awake, "p")).norm(), 1e-5);
}

TEST(Sleeping, AFallingBodyWakesWhatItHits) {
  World world = LoadWorld(Fill(CratesScene(), {{"probes:", R"(  - name: ball
    rigid: {motion: FREE, density: 1000, pose: {position: [1, 0, 3]},
        shapes: [{sphere: {radius: 0.05}}]}
probes:)"}}));
  RunUntil(0.6, &world);
  EXPECT_EQ(world.report().asleep, 3);
  RunUntil(0.78, &world);  // 2.75 m take 0.749 s
  EXPECT_EQ(world.report().asleep, 2);
}

TEST(Sleeping, ABallAtTheTopOfItsFlightStaysAwake) {
  World world = LoadWorld(R"(
time_step: 0.001
bodies:
  - name: ball
    rigid: {motion: FREE, density: 1000, pose: {position: [0, 0, 1]},
        velocity: {linear: [0, 0, 1]}, shapes: [{sphere: {radius: 0.05}}]}
)");
  RunUntil(0.3, &world);
  EXPECT_EQ(world.report().asleep, 0);
  EXPECT_NEAR(world.state().v[5], 1 - 0.3 * kGravity, 1e-9);
}

TEST(Sleeping, ASavedSleeperGoesOnBitForBit) {
  World whole = LoadWorld(CratesScene()), cut = LoadWorld(CratesScene());
  RunUntil(1, &whole);
  ASSERT_TRUE(cut.Restore(whole.Save()).ok());
  EXPECT_EQ(HashState(cut.state()), HashState(whole.state()));
  RunUntil(1.2, &whole);
  RunUntil(1.2, &cut);
  EXPECT_EQ(HashState(cut.state()), HashState(whole.state()));
  EXPECT_EQ(cut.report().contacts.size(), whole.report().contacts.size());
  EXPECT_EQ(Read(cut, "weight"), Read(whole, "weight"));
}

TEST(Sleeping, AStepperThatSawAnotherStateGivesTheSameStep) {
  World world = LoadWorld(CratesScene()), other = LoadWorld(CratesScene());
  RunUntil(1, &world);
  const std::string asleep = world.Save();
  Inputs inputs;
  inputs.poses.push_back(
      {FindBody(world.model(), "pusher"), {Eigen::Matrix3d::Identity(), {-0.18, 0, 0.1}}});
  for (int k = 0; k < 20; ++k) ASSERT_TRUE(world.Step(inputs).ok());
  ASSERT_TRUE(world.Restore(asleep).ok());
  ASSERT_TRUE(other.Restore(asleep).ok());
  for (int k = 0; k < 5; ++k) {
    ASSERT_TRUE(world.Step(inputs).ok());
    ASSERT_TRUE(other.Step(inputs).ok());
    EXPECT_EQ(HashState(world.state()), HashState(other.state())) << k;
  }
}

TEST(Sleeping, WhatCreepsWithoutAnchorsNeverSleeps) {
  World world = LoadWorld(CratesScene("contact: {anchored: false}\n"));
  RunUntil(1, &world);
  EXPECT_EQ(world.report().asleep, 0);
}

TEST(Sleeping, AWeldedBodyKeepsItsReaction) {
  World world = LoadWorld(R"(
time_step: 0.005
bodies:
  - {name: hook, rigid: {motion: FIXED, shapes: []}}
  - {name: load, rigid: {motion: FREE, mass: 2, pose: {position: [0.5, 0, 0]},
      shapes: [{box: {size: [0.1, 0.1, 0.1]}}]}}
constraints:
  - {name: joint, weld: {a: hook, b: load}}
probes:
  - {name: r, reaction: {constraint: joint}}
)");
  for (const double t : {0.1, 1.0}) {
    RunUntil(t, &world);
    EXPECT_EQ(world.report().asleep, t < 0.5 ? 0 : 1);
    EXPECT_NEAR(Read(world, "r")[2], 2 * kGravity, 1e-4) << t;
  }
}

// A soft ball that a plate squeezes to half of its height: forces a hundred times its weight.
class SqueezedBall : public testing::TestWithParam<const char*> {};

TEST_P(SqueezedBall, Sleeps) {
  World world = LoadWorld(absl::StrCat("method: {", GetParam(), R"(: {}}
time_step: 0.01
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: ball
    deformable:
      mesh: {sphere: {radius: 0.05}, edge_length: 0.02}
      pose: {position: [0, 0, 0.05]}
      material: {youngs_modulus: 1.0e+5, poissons_ratio: 0.4, density: 500}
      damping: {beta: 0.02}
  - {name: plate, rigid: {motion: KINEMATIC, pose: {position: [0, 0, 0.12]},
      shapes: [{box: {size: [0.2, 0.2, 0.02]}}]}}
script:
  - {target: {pose: plate}, times: [0, 0.5], values: [[0, 0, 0.12], [0, 0, 0.06]]}
)"));
  RunUntil(0.5, &world);
  EXPECT_EQ(world.report().asleep, 0);
  RunUntil(2, &world);
  EXPECT_EQ(world.report().asleep, 1);
}

INSTANTIATE_TEST_SUITE_P(Methods, SqueezedBall,
                         testing::Values("convex", "corrective", "nonsmooth"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace pliant::physics
