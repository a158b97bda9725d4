#include "tests/server/service/simulation.h"

#include "gtest/gtest.h"

#include "tests/server/run/temporary_folder.h"

namespace pliant::server {
namespace {

TEST(Simulation, KeepsThePromisesOfTheServer) {
  std::map<std::string, int> applied;
  for (const std::uint64_t seed : {1, 2, 3}) {
    Simulation simulation(seed, 8);
    simulation.Run(std::chrono::seconds(300));

    // the run covered every kind of event
    const Simulation::Counts& counts = simulation.counts();
    EXPECT_GT(counts.requests, 500);
    EXPECT_GT(counts.frames, 1000);
    EXPECT_GT(counts.commands, 500);
    EXPECT_GT(counts.crashes, 5);
    EXPECT_GT(counts.worlds, 5);
    EXPECT_GT(counts.restores, 2);
    for (const auto& [kind, count] : counts.applied) applied[kind] += count;
  }
  for (const char* kind :
       {"twist", "joint_targets", "gripper", "gains", "spring", "wrench", "gamepad"})
    EXPECT_GT(applied[kind], 0) << kind;
}

TEST(Simulation, DurableWorldsKeepWhatTheyAcknowledged) {
  // durable worlds are created at random
  int recoveries = 0;
  for (const std::uint64_t seed : {21, 22, 23, 24}) {
    const TemporaryFolder folder;
    Simulation simulation(seed, 5, folder.File("data"));
    simulation.Run(std::chrono::seconds(60));
    recoveries += simulation.counts().recoveries;
    EXPECT_EQ(simulation.counts().restarts, 5);
  }
  EXPECT_GT(recoveries, 40);
}

TEST(Simulation, RepeatsFromItsSeed) {
  const auto run = [](std::uint64_t seed) {
    Simulation simulation(seed, 5);
    simulation.Run(std::chrono::seconds(100));
    const Simulation::Counts& c = simulation.counts();
    return std::vector{c.requests, c.frames, c.commands, c.crashes, c.worlds, c.refusals};
  };
  EXPECT_EQ(run(11), run(11));
  EXPECT_NE(run(11), run(12));
}

}  // namespace
}  // namespace pliant::server
