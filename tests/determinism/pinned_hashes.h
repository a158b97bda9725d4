#pragma once

#include <string_view>

namespace pliant::physics {

// Hash of the state of a scene after some steps. To renew it after a wanted change of the numerics: run
// `test_determinism --gtest_filter='*Pinned*'`, which prints the lines as they now are.
struct PinnedHash {
  std::string_view scene;
  int steps;
  std::string_view hash;
};

inline constexpr PinnedHash kPinnedHashes[] = {
    {"soft ball", 60, "ddf47ae49c9a408c58ec5d0d5e5f182a"},
    {"rigid heap", 100, "09d58fe7669b9431e569e50b4563c4cc"},
    {"arm and hand", 120, "aab9a398fbab3a42659791b0f432177b"},
    {"corrective cube", 60, "53e62e0df4e8a3fb2b08843ef6282293"},
    {"nonsmooth cube", 60, "8acd91250f41d2763cb7955c358bfe7a"},
};

}  // namespace pliant::physics
