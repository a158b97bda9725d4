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
    {"soft ball", 60, "536ca928d781b8f52b969d99de9e72a1"},
    {"rigid heap", 100, "0af4bd87ab5e575bafaa97f0e45845be"},
    {"arm and hand", 120, "d33b504fdf9d04e588aab4c12dd520d8"},
    {"corrective cube", 60, "018a51921e065b13ccab6a951e175812"},
};

}  // namespace pliant::physics
