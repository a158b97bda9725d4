#include "gtest/gtest.h"

#include "tests/server/run/temporary_folder.h"
#include "tests/server/service/simulation.h"

namespace pliant::server {
namespace {

TEST(LongSimulation, KeepsThePromisesOfTheServerForAHundredThousandSeconds) {
  for (std::uint64_t seed = 100; seed < 200 && !HasFailure(); ++seed) {
    // every tenth server has durable worlds, and is killed
    const TemporaryFolder folder;
    Simulation simulation(seed, 8, seed % 10 == 0 ? folder.File("data") : "");
    simulation.Run(std::chrono::seconds(1000));
  }
}

}  // namespace
}  // namespace pliant::server
