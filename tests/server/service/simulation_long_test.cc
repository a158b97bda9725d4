#include "gtest/gtest.h"

#include "tests/server/service/simulation.h"

namespace pliant::server {
namespace {

TEST(LongSimulation, KeepsThePromisesOfTheServerForAHundredThousandSeconds) {
  for (std::uint64_t seed = 100; seed < 200 && !HasFailure(); ++seed) {
    Simulation simulation(seed, 8);
    simulation.Run(std::chrono::seconds(1000));
  }
}

}  // namespace
}  // namespace pliant::server
