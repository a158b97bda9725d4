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
  double overlap = 2e-4;  // at the end [m]
  bool converges = true;  // whether every step does
};

// Near-rigid contacts of `convex` have a compliance, by which light bodies under heavy ones overlap
// by a tenth of a millimetre at rest, and more in an impact. `corrective` does not converge in all
// steps of such worlds, and is held to end them.
inline WorldLimits LimitsOf(const std::string& method) {
  WorldLimits limits;
  if (method == "convex") limits.overlap = 7e-4;
  limits.converges = method != "corrective";
  return limits;
}

inline bool Keeps(const WorldLimits& limits, const WorldVerdict& verdict) {
  if (!verdict.fault.empty()) return false;
  return !limits.converges ||
         (verdict.missed == 0 && verdict.largest_gain <= limits.gain &&
          verdict.total_gain <= limits.total_gain && verdict.overlap <= limits.overlap);
}

// Runs the worlds of `count` seeds. One that fails is cut down to the fewest bodies with which it
// still does.
inline void CheckRandomWorlds(const std::string& method, std::uint64_t first_seed, int count) {
  const WorldLimits limits = LimitsOf(method);
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    const RandomWorld world(seed);
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

}  // namespace pliant::physics
