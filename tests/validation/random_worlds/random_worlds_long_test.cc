// Two thousand random worlds under each of convex, corrective and nonsmooth, two hundred under
// smooth, and a hundred with particles.

#include <string>
#include <tuple>

#include "tests/validation/random_worlds/worlds_check.h"

namespace pliant::physics {
namespace {

constexpr int kWorldsInChunk = 100;

class ManyRandomWorlds : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(ManyRandomWorlds, ConvergeAndSeldomGainEnergy) {
  const auto& [method, chunk] = GetParam();
  CheckAllButFewRandomWorlds(method, chunk * kWorldsInChunk + 1, kWorldsInChunk);
}

INSTANTIATE_TEST_SUITE_P(All, ManyRandomWorlds,
                         ::testing::Combine(::testing::Values("convex", "corrective", "nonsmooth"),
                                            ::testing::Range(0, 20)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + std::to_string(std::get<1>(info.param));
                         });

class SmoothRandomWorlds : public ::testing::TestWithParam<int> {};

TEST_P(SmoothRandomWorlds, ConvergeAndSeldomGainEnergy) {
  constexpr int kCount = 50;
  CheckAllButFewRandomWorlds("smooth", GetParam() * kCount + 1, kCount, MakeSmoothLimits());
}

INSTANTIATE_TEST_SUITE_P(All, SmoothRandomWorlds, ::testing::Range(0, 4));

class RandomParticleWorlds : public ::testing::TestWithParam<int> {};

TEST_P(RandomParticleWorlds, ConvergeAndGainNoEnergy) {
  constexpr int kCount = 25;
  CheckRandomWorlds("convex", GetParam() * kCount + 1, kCount, RandomWorld::Kind::kParticles,
                    kParticleLimits);
}

INSTANTIATE_TEST_SUITE_P(All, RandomParticleWorlds, ::testing::Range(0, 4));

}  // namespace
}  // namespace pliant::physics
