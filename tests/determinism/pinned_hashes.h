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
    {"soft ball", 60, "56b4248b08c489ac128b7b72f5a54580"},
    {"rigid heap", 100, "0fa92be1c4a41ef790e61ab707c3a027"},
    {"arm and hand", 120, "b55a0d2a267d8b1b063df83909e32056"},
    {"corrective cube", 60, "307b23714bdf6e9722378fa2789e0706"},
};

}  // namespace pliant::physics
