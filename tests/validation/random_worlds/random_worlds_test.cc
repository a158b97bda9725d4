// Sixty random worlds under every method.

#include <string>
#include <tuple>

#include "tests/validation/random_worlds/worlds_check.h"

namespace pliant::physics {
namespace {

constexpr int kWorldsInChunk = 10;

class RandomWorlds : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(RandomWorlds, ConvergeAndGainNoEnergy) {
  const auto& [method, chunk] = GetParam();
  CheckRandomWorlds(method, chunk * kWorldsInChunk + 1, kWorldsInChunk);
}

INSTANTIATE_TEST_SUITE_P(All, RandomWorlds,
                         ::testing::Combine(::testing::Values("convex", "nonsmooth"),
                                            ::testing::Range(0, 6)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + std::to_string(std::get<1>(info.param));
                         });

TEST(RandomWorldsByDirectionsAtTheEnd, MissOneStepInAThousand) {
  CheckMostRandomWorlds("corrective", 1, 60);
}

}  // namespace
}  // namespace pliant::physics
