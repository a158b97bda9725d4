// Sixty random worlds under each of convex, corrective and nonsmooth, and ten with particles.

#include <string>
#include <tuple>
#include <utility>

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
                         ::testing::Combine(::testing::Values("convex", "corrective", "nonsmooth"),
                                            ::testing::Range(0, 6)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + std::to_string(std::get<1>(info.param));
                         });

TEST(RandomParticleWorlds, ConvergeAndGainNoEnergy) {
  CheckRandomWorlds("convex", 25, 10, RandomWorld::Kind::kParticles, kParticleLimits);
}

// Worlds that once failed: a step was repeated for minutes; a body that an impact spun gained half
// of the world's energy; a hyperelastic body was relinearised at inexact impulses until no
// recursions were left (19 of 300 steps missed), and another one halfway to a solution that did not
// exist; Newton's directions were so long that the line search cut them to a millionth, and the
// step gained most of the energy. Single steps still miss or not by how sums are rounded.
TEST(KeptRandomWorlds, Converge) {
  for (const auto& [method, seed] :
       {std::pair("corrective", 324), std::pair("convex", 1149), std::pair("corrective", 805),
        std::pair("corrective", 1409), std::pair("smooth", 157)}) {
    const WorldVerdict verdict = RunScene(RandomWorld(seed).ToYaml(method), 1.5);
    EXPECT_EQ(verdict.fault, "") << method << ", seed " << seed;
    EXPECT_LE(verdict.missed, verdict.steps / 100) << method << ", seed " << seed;
    EXPECT_LE(verdict.largest_gain, 1e-3) << method << ", seed " << seed;
  }
}

}  // namespace
}  // namespace pliant::physics
