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
    {"soft ball", 60, "dc5e8f66f49ed48e9641a16597b29574"},
    {"rigid heap", 100, "fadf9bf1fb5f0ce5e5a50190978f4b5b"},
    {"corrective cube", 60, "108dd039aa0d98b5cf6ce4dec7ec5fa2"},
};

}  // namespace pliant::physics
