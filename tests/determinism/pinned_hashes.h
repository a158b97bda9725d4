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
    {"soft ball", 60, "d2d56da4b36608b67bf439e5358f3492"},
    {"rigid heap", 100, "51c20ab9b8305ddb87d463135b0e8736"},
    {"corrective cube", 60, "a113d95dfd1f84a1c0df5984bcdfc98f"},
};

}  // namespace pliant::physics
