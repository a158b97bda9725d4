// The body of docs/extending.md, "A body", is docs/examples/clay_body.cc and its line in the
// registry; nothing else changes. Its velocities live on a grid that is rebuilt in every step. It
// has internal variables, contact points and a field.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "physics/stepping/integrators/theta_method.h"
#include "tests/architecture/recipes/clay_scene.h"
#include "tests/execute_on_threads.h"

namespace pliant {
namespace {

using physics::State;
using physics::World;

class Clay : public ::testing::TestWithParam<const char*> {};

TEST_P(Clay, FallsFreelyAndThenLiesUnderABoxThatPressesItTogether) {
  World world = LoadClay(GetParam());
  const double top = Probe(world, "center", 2), volume = Probe(world, "volume");
  StepTo(50, &world);
  // implicit Euler falls by ½ g t (t + h)
  EXPECT_NEAR(Probe(world, "center", 2), top - 0.5 * 9.81 * 0.1 * 0.102, 1e-12);
  StepTo(500, &world);
  // weight of 0.12³ · 1500 + 0.08³ · 800 kg on the slab, within what still moves
  EXPECT_NEAR(-Probe(world, "force", 2), -9.81 * (2.592 + 0.4096), 0.1 * 29.4);
  EXPECT_GT(Probe(world, "center", 2), 0.01);
  EXPECT_LT(Probe(world, "volume"), volume);
  EXPECT_LT(Probe(world, "smallest"), 0.98);  // beyond the yield
  EXPECT_LT(Probe(world, "energy"), 0.01 * 2.592 * 9.81 * 0.14);
}

INSTANTIATE_TEST_SUITE_P(Methods, Clay,
                         ::testing::Values("convex: {}", "corrective: {}", "nonsmooth: {}"));

TEST(ClayBody, ItsVelocitySpaceChangesWhileItMoves) {
  const World world = LoadClay();
  const physics::DynamicsBlock& block = *world.model().blocks[0];
  State state = world.state();
  const std::unique_ptr<physics::BlockStep> step = block.NewStep();
  const auto count = [&] {
    EXPECT_TRUE(step->Pose(physics::ThetaMethod(0.01), world.model().StateOf(state, 0), {}).ok());
    return step->space().num_velocities();
  };
  const int before = count();
  // half as large again, its vertices lie in more cells
  for (double& q : state.q) q *= 1.5;
  EXPECT_GT(count(), before);
  EXPECT_NE(count(), block.num_velocities());
}

TEST(ClayBody, IsTheSameBitsForOneAndTwoThreadsAndAcrossACheckpoint) {
  const auto run = [](int threads) {
    return ExecuteOnThreads(threads, [] {
      World world = LoadClay();
      StepTo(150, &world);
      return HashState(world.state());
    });
  };
  const std::string hash = run(1);
  EXPECT_EQ(run(2), hash);

  World whole = LoadClay();
  StepTo(110, &whole);  // it has touched, and its internals have changed
  EXPECT_LT(*std::ranges::min_element(whole.state().internals[0]), 1);
  World fork = LoadClay();
  const absl::Status restored = fork.Restore(whole.Save());
  ASSERT_TRUE(restored.ok()) << restored;
  EXPECT_EQ(HashState(fork.state()), HashState(whole.state()));
  StepTo(150, &whole);
  StepTo(150, &fork);
  EXPECT_EQ(HashState(fork.state()), HashState(whole.state()));
  EXPECT_EQ(HashState(whole.state()), hash);
}

TEST(ClayBody, TouchesByItsPoints) {
  World world = LoadClay();
  StepTo(500, &world);
  const double radius = 0.01;  // a quarter of a cell
  double lowest = 1;
  for (std::size_t i = 2; i < world.model().Positions(world.state(), 0).size(); i += 3)
    lowest = std::min(lowest, world.model().Positions(world.state(), 0)[i]);
  EXPECT_NEAR(lowest, radius, 1e-4);
  int count = 0;
  for (const physics::ContactForce& contact : world.report().contacts) {
    if (contact.nodes_b.empty()) continue;
    // a point is one node, which moves with the eight grid nodes around it
    EXPECT_EQ(contact.nodes_b.size(), 1);
    ++count;
  }
  EXPECT_GE(count, 9);
}

TEST(ClayBody, InternalsAreInTheHash) {
  World world = LoadClay();
  State state = world.state();
  const std::string hash = HashState(state);
  state.internals[0][3] -= 1e-16;
  EXPECT_NE(HashState(state), hash);
}

TEST(ClayBody, WrongParametersAreNamedWithWhatIsExpected) {
  std::string yaml = ClayScene("convex: {}");
  yaml.replace(yaml.find("yield: 0.02"), 11, "yield: 2.00");
  const physics::SceneResult scene = physics::LoadSceneYaml(yaml, "clay.yaml");
  ASSERT_FALSE(scene.ok());
  EXPECT_NE(scene.messages[0].message.find("from 0 to 1"), std::string::npos);
}

}  // namespace
}  // namespace pliant
