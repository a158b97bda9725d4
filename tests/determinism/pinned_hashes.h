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
    {"soft ball", 60, "4731a8d56af0cb8d6e1f9961c3021f88"},
    {"rigid heap", 100, "b331f1f798bbd2fbde5e90e995220e8d"},
    {"corrective cube", 60, "9d63b89aab159b31e296d73b296a3ced"},
};

}  // namespace pliant::physics
