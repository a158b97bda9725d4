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
    {"soft ball", 60, "3224f276e364f026d3b75ad14afa5194"},
    {"rigid heap", 100, "3b9ee0e4867fdce3b4409928a86ae5ff"},
    {"corrective cube", 60, "502c4c911d2d3b810535bd4720ebcfb4"},
};

}  // namespace pliant::physics
