// Sixty random worlds under every method.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/validation/random_worlds/random_world.h"

namespace pliant::physics {
namespace {

constexpr int kWorldsInChunk = 10;
constexpr double kDuration = 1.5;  // [s]
// Part of the energy at the start that a step may gain, and all steps together. Joints between free
// bodies push their drift out as velocity, which gains up to 1.1e-3; all else stays below 1e-3.
constexpr double kMaxGain = 2e-3, kMaxTotalGain = 1e-2;
constexpr double kMaxOverlap =
    1e-3;  // at the end [m]: the last tenth of a millimetre leaves slowly

bool Fails(const std::string& yaml, bool converges) {
  const WorldVerdict verdict = RunScene(yaml, kDuration);
  if (!verdict.fault.empty()) return true;
  return converges && (verdict.missed > 0 || verdict.largest_gain > kMaxGain ||
                       verdict.total_gain > kMaxTotalGain || verdict.overlap > kMaxOverlap);
}

class RandomWorlds : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

// `corrective` does not converge in all steps of such worlds, and is held to end them.
TEST_P(RandomWorlds, ConvergeAndGainNoEnergy) {
  const auto& [method, chunk] = GetParam();
  const bool converges = method != "corrective";
  for (int k = 0; k < kWorldsInChunk; ++k) {
    const auto seed = static_cast<std::uint64_t>(chunk * kWorldsInChunk + k + 1);
    const RandomWorld world(seed);
    const std::string yaml = world.ToYaml(method);
    if (!Fails(yaml, converges)) continue;
    const WorldVerdict verdict = RunScene(yaml, kDuration);
    const std::vector<int> fewest = FindFewestParts(
        world, method, [&](const std::string& scene) { return Fails(scene, converges); });
    ADD_FAILURE() << method << ", seed " << seed << ": " << verdict.missed << " of "
                  << verdict.steps << " steps missed, gain " << verdict.largest_gain << " in one, "
                  << verdict.total_gain << " in all, overlap " << verdict.overlap << " m. "
                  << verdict.fault << "\nThe fewest bodies with which it fails:\n"
                  << world.ToYaml(method, fewest);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomWorlds,
                         ::testing::Combine(::testing::Values("convex", "corrective", "nonsmooth"),
                                            ::testing::Range(0, 6)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace pliant::physics
