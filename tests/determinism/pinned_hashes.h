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
    {"soft ball", 60, "fcb0e027b377e26c034b5f28db501b4e"},
    {"rigid heap", 100, "4486e0cb961d4f6e2a926e44097a7369"},
    {"corrective cube", 60, "ea0cd8959d68139f2997ebf93da09e17"},
};

}  // namespace pliant::physics
