#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"

#include "tests/validation/validation_scene.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

double CalcTotalEnergy(const World& world) {
  const Energies energies = CalcEnergies(world.model(), world.state(), -1);
  return energies.kinetic + energies.elastic + energies.potential;
}

class Restitution : public ::testing::TestWithParam<std::string> {};

std::string DropScene(const std::string& method, double h, double height) {
  return Fill(R"(
name: drop
time_step: $H
method: {$METHOD: {}}
contact: {friction: 0.5}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}, restitution: 0.8}]}}
  - name: ball
    rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.05}}],
            pose: {position: [0, 0, $Z]}}
probes:
  - {name: position, position: {body: ball}}
  - {name: velocity, velocity: {body: ball}}
)",
              {{"$METHOD", method}, {"$H", Number(h)}, {"$Z", Number(0.05 + height)}});
}

// Steps until the ball has turned at the top after its next bounce, and returns the height there.
double FindNextHeight(World* world) {
  const double h = world->model().time_step;
  bool is_up = false;
  for (int s = 0; s < 5 / h; ++s) {
    EXPECT_TRUE(world->Step().ok());
    EXPECT_TRUE(world->report().converged);
    const double v = ReadVector(*world, "velocity").z();
    is_up = is_up || v > 0;
    if (!is_up || v > 0) continue;
    // the velocity is that at the middle of the step
    const double u = v - 0.5 * h * kGravity;
    return ReadVector(*world, "position").z() - 0.05 + u * u / (2 * kGravity);
  }
  ADD_FAILURE() << "the ball does not bounce";
  return 0;
}

TEST_P(Restitution, BallReturnsToTheSquareOfItsRestitution) {
  for (const double h : {0.001, 0.002, 0.005, 0.01, 0.02}) {
    for (const double height : {0.5, 0.7, 1.0}) {
      World world = LoadWorld(DropScene(GetParam(), h, height));
      const double first = FindNextHeight(&world), second = FindNextHeight(&world);
      EXPECT_NEAR(first, 0.64 * height, 0.01 * 0.64 * height) << "h " << h;
      EXPECT_NEAR(second, 0.64 * first, 0.01 * 0.64 * first) << "h " << h;
    }
  }
}

// Below the threshold speed there is no restitution, so that the ball comes to rest.
TEST_P(Restitution, BallComesToRest) {
  World world = LoadWorld(DropScene(GetParam(), 0.005, 0.1));
  for (int s = 0; s < 600; ++s) ASSERT_TRUE(world.Step().ok());
  EXPECT_LT(ReadVector(world, "velocity").norm(), 1e-6);
  EXPECT_NEAR(ReadVector(world, "position").z(), 0.05, 1e-4);
}

// Both shapes of a pair have a restitution: it is their mean; that of the pair overrides it.
TEST(RestitutionOfAPair, IsTheMeanOfBothShapesUnlessThePairHasOne) {
  for (const auto& [pair, expected] : {std::pair("", 0.6), std::pair(R"(
pairs:
  - {bodies: [ground, ball], restitution: 0.3}
)",
                                                                     0.3)}) {
    World world = LoadWorld(R"(
name: mean
time_step: 0.005
gravity: [0, 0, 0]
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}, restitution: 0.4}]}}
  - name: ball
    rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.05}, restitution: 0.8}],
            pose: {position: [0, 0, 0.06]}, velocity: {linear: [0, 0, -1]}}
probes:
  - {name: velocity, velocity: {body: ball}}
)" + std::string(pair));
    for (int s = 0; s < 20; ++s) ASSERT_TRUE(world.Step().ok());
    EXPECT_NEAR(ReadVector(world, "velocity").z(), expected, 1e-6);
  }
}

// Five touching balls between two walls pass the velocity of the first one on to the last, and get
// it back, twenty times.
TEST_P(Restitution, ARowOfBallsPassesVelocityOn) {
  std::string bodies;
  for (int i = 0; i < 5; ++i) {
    const double x = i == 0 ? -0.2 : 0.04 * i;
    bodies += Fill(
        "  - {name: ball_$I, rigid: {motion: FREE, mass: 0.1, shapes: [{sphere: {radius: 0.02}}], "
        "pose: {position: [$X, 0, 0]}, velocity: {linear: [$V, 0, 0]}}}\n",
        {{"$I", std::to_string(i)}, {"$X", Number(x)}, {"$V", i == 0 ? "2" : "0"}});
  }
  World world = LoadWorld(Fill(R"(
name: row
time_step: 0.005
gravity: [0, 0, 0]
sleeping: false
method: {$METHOD: {}}
contact: {friction: 0, restitution: 1}
bodies:
  - {name: left, rigid: {motion: FIXED, pose: {position: [-0.35, 0, 0]},
      shapes: [{box: {size: [0.1, 1, 1]}}]}}
  - {name: right, rigid: {motion: FIXED, pose: {position: [0.51, 0, 0]},
      shapes: [{box: {size: [0.1, 1, 1]}}]}}
)",
                               {{"$METHOD", GetParam()}}) +
                          bodies);
  const double start = CalcTotalEnergy(world);
  int passes = 0, moving = 0;
  for (int s = 0; s < 1500; ++s) {
    ASSERT_TRUE(world.Step().ok());
    ASSERT_TRUE(world.report().converged) << "step " << s;
    EXPECT_NEAR(CalcTotalEnergy(world), start, 1e-6 * start) << "step " << s;
    double momentum = 0;
    int fastest = 0;
    double largest = 0;
    for (int i = 0; i < 5; ++i) {
      const auto v = world.model().Velocities(world.state(), world.model().bodies[i + 2].block);
      momentum += 0.1 * v[3];
      if (std::abs(v[3]) > largest) {
        largest = std::abs(v[3]);
        fastest = i;
      }
    }
    EXPECT_NEAR(std::abs(momentum), 0.2, 1e-6) << "step " << s;
    passes += fastest != moving;
    moving = fastest;
  }
  EXPECT_GE(passes, 20);
}

// Bodies that spin and slide, with friction, at any angle.
TEST_P(Restitution, NoCollisionGainsEnergy) {
  for (int k = 0; k < 12; ++k) {
    World world = LoadWorld(Fill(R"(
name: thrown
time_step: 0.005
gravity: [0, 0, 0]
method: {$METHOD: {}}
contact: {friction: 0.4, restitution: 1}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - name: box
    rigid: {motion: FREE, density: 1000, shapes: [{box: {size: [0.1, 0.06, 0.03]}}],
            pose: {position: [0, 0, 0.1], rpy_degrees: [$A, $B, 10]},
            velocity: {linear: [$X, 0.3, -2], angular: [$W, 3, -5]}}
)",
                                 {{"$METHOD", GetParam()},
                                  {"$A", Number(17.0 * k)},
                                  {"$B", Number(11.0 * k)},
                                  {"$X", Number(0.5 * k - 3)},
                                  {"$W", Number(7.0 * (k % 5) - 14)}}));
    double last = CalcTotalEnergy(world);
    const double start = last;
    for (int s = 0; s < 60; ++s) {
      ASSERT_TRUE(world.Step().ok());
      const double now = CalcTotalEnergy(world);
      EXPECT_LT(now - last, 1e-5 * start) << "case " << k << ", step " << s;
      last = now;
    }
    EXPECT_LT(last, start);
  }
}

// A ball bounces off a plate that lies on the ground as off the ground.
TEST_P(Restitution, APlateOnTheGroundBearsTheCollision) {
  World world = LoadWorld(Fill(R"(
name: plate
time_step: 0.005
method: {$METHOD: {}}
bodies:
  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
  - {name: plate, rigid: {motion: FREE, density: 1000, shapes: [{box: {size: [0.4, 0.4, 0.02]}}],
      pose: {position: [0, 0, 0.01]}}}
  - name: ball
    rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.05}, restitution: 0.8}],
            pose: {position: [0, 0, 0.57]}}
probes:
  - {name: position, position: {body: ball}}
  - {name: velocity, velocity: {body: ball}}
)",
                               {{"$METHOD", GetParam()}}));
  double highest = 0;
  bool is_up = false;
  for (int s = 0; s < 150; ++s) {
    ASSERT_TRUE(world.Step().ok());
    is_up = is_up || ReadVector(world, "velocity").z() > 0;
    if (is_up) highest = std::max(highest, ReadVector(world, "position").z() - 0.07);
  }
  EXPECT_NEAR(highest, 0.32, 0.01);
}

// Balls in a shaft bounce and come to rest. A ball that falls onto its neighbours more slowly than
// the threshold speed must not fall through them in the search for collisions: it would meet others
// fast, again and again.
TEST_P(Restitution, APileComesToRestAndStaysThere) {
  std::string scene = Fill(R"(
name: pile
time_step: 0.005
sleeping: false
method: {$METHOD: {}}
contact: {friction: 0.5, restitution: 0.8}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
)",
                           {{"$METHOD", GetParam()}});
  for (int i = 0; i < 4; ++i) {
    const double angle = i * std::numbers::pi / 2;
    absl::StrAppend(&scene, "  - {name: wall_", i,
                    ", rigid: {motion: FIXED, shapes: [{box: {size: [0.02, 0.4, 0.6]}}], pose: "
                    "{position: [",
                    0.16 * std::cos(angle), ", ", 0.16 * std::sin(angle),
                    ", 0.3], rpy_degrees: [0, 0, ", 90 * i, "]}}}\n");
  }
  for (int i = 0; i < 10; ++i) {
    absl::StrAppend(&scene, "  - {name: ball_", i,
                    ", rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.05}}], "
                    "pose: {position: [",
                    0.03 * std::cos(2.4 * i), ", ", 0.03 * std::sin(2.4 * i), ", ", 0.3 + 0.11 * i,
                    "]}}}\n");
  }
  World world = LoadWorld(scene);
  const double start = CalcTotalEnergy(world);
  double gained = 0;
  for (int s = 0; s < 600; ++s) {
    const double before = CalcTotalEnergy(world);
    ASSERT_TRUE(world.Step().ok());
    EXPECT_TRUE(world.report().converged) << "step " << s;
    const double gain = CalcTotalEnergy(world) - before;
    EXPECT_LT(gain, 1e-3 * start) << "step " << s;
    gained += std::max(gain, 0.0);
  }
  EXPECT_LT(gained, 2e-3 * start);
  EXPECT_LT(CalcEnergies(world.model(), world.state(), -1).kinetic, 1e-5 * start);
}

INSTANTIATE_TEST_SUITE_P(Methods, Restitution,
                         ::testing::Values("convex", "corrective", "nonsmooth"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace pliant::physics
