#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/validation/random_worlds/random_world.h"

namespace pliant::physics {

// Limits that every random world keeps.
struct WorldLimits {
  double duration = 1.5;  // [s]
  // Parts of the energy at the start that a step may gain, and all steps together.
  double gain = 1e-3, total_gain = 1e-2;
  double overlap = 1e-4;  // at the end [m]
};

// Particles may be pressed into a shape a little further.
inline constexpr WorldLimits kParticleLimits = {.duration = 0.6, .overlap = 1e-3};

inline bool Keeps(const WorldLimits& limits, const WorldVerdict& verdict) {
  return verdict.fault.empty() && verdict.missed == 0 && verdict.largest_gain <= limits.gain &&
         verdict.total_gain <= limits.total_gain && verdict.overlap <= limits.overlap;
}

// Runs the worlds of `count` seeds. One that fails is cut down to the fewest bodies with which it
// still does.
inline void CheckRandomWorlds(const std::string& method, std::uint64_t first_seed, int count,
                              RandomWorld::Kind kind = RandomWorld::Kind::kMeshes,
                              const WorldLimits& limits = {}) {
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    const RandomWorld world(seed, kind);
    const WorldVerdict verdict = RunScene(world.ToYaml(method), limits.duration);
    if (Keeps(limits, verdict)) continue;
    const std::vector<int> fewest = FindFewestParts(world, method, [&](const std::string& scene) {
      return !Keeps(limits, RunScene(scene, limits.duration));
    });
    ADD_FAILURE() << method << ", seed " << seed << ": " << verdict.missed << " of "
                  << verdict.steps << " steps missed, gain " << verdict.largest_gain << " in one, "
                  << verdict.total_gain << " in all, overlap " << verdict.overlap << " m. "
                  << verdict.fault << "\nThe fewest bodies with which it fails:\n"
                  << world.ToYaml(method, fewest);
  }
}

// Limits for most of a number of worlds, wider ones for all, and the share of exceptions.
struct WideLimits {
  WorldLimits narrow, wide;
  int one_in;  // world beyond the narrow limits
};

// Of a hundred worlds, up to four gain more than a thousandth of their energy in some step: where
// the smallest substep does so, too, or where nothing rotates.
inline WideLimits MakeWideLimits() {
  return {{}, {.gain = 1e-2, .total_gain = 2e-2, .overlap = 2e-3}, 20};
}

// Under `smooth`, steps that would end with an overlap make contacts stiffer, which supplies energy
// in one world of ten.
inline WideLimits MakeSmoothLimits() {
  return {{}, {.gain = 3e-2, .total_gain = 5e-2, .overlap = 2e-3}, 10};
}

// Runs the worlds of `count` seeds, of which few may exceed the limits, and one step in a thousand
// may miss.
inline void CheckAllButFewRandomWorlds(const std::string& method, std::uint64_t first_seed,
                                       int count, const WideLimits& limits = MakeWideLimits()) {
  const auto& [narrow, wide, one_in] = limits;
  int steps = 0, missed = 0, beyond = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    WorldVerdict verdict = RunScene(RandomWorld(seed).ToYaml(method), narrow.duration);
    EXPECT_EQ(verdict.fault, "") << method << ", seed " << seed;
    EXPECT_LE(verdict.largest_gain, wide.gain) << method << ", seed " << seed;
    EXPECT_LE(verdict.total_gain, wide.total_gain) << method << ", seed " << seed;
    EXPECT_LE(verdict.overlap, wide.overlap) << method << ", seed " << seed;
    steps += verdict.steps;
    missed += verdict.missed;
    verdict.missed = 0;
    beyond += !Keeps(narrow, verdict);
  }
  EXPECT_LE(missed, steps / 1000) << method;
  EXPECT_LE(beyond, count / one_in) << method;
}

}  // namespace pliant::physics
