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
    {"soft ball", 60, "a8540e63bd9805eea9e4cf4c3591c720"},
    {"rigid heap", 100, "09d58fe7669b9431e569e50b4563c4cc"},
    {"arm and hand", 120, "e29debd602d011f119ac4cce328c255b"},
    {"corrective cube", 60, "1a47f7552a4224294b8b292f0b2122bd"},
};

}  // namespace pliant::physics
