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
    {"soft ball", 60, "b3b1e019162e206c12d695f62f57cca1"},
    {"rigid heap", 100, "d4406a6ce7a285600bd3670ad7eae7c1"},
    {"arm and hand", 120, "ed09ec774669255939176ba733800d28"},
    {"corrective cube", 60, "1a47f7552a4224294b8b292f0b2122bd"},
};

}  // namespace pliant::physics
