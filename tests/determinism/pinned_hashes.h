#pragma once

#include <string_view>

namespace pliant::physics {

// Hash of a scene's state after a number of steps. To update it after an intended change of the
// numerics, run `test_determinism --gtest_filter='*Pinned*'`, which prints the new lines.
struct PinnedHash {
  std::string_view scene;
  int steps;
  std::string_view hash;
};

inline constexpr PinnedHash kPinnedHashes[] = {
    {"soft ball", 60, "51b88e71c9b6bdfb62f18640ca9d9d2c"},
    {"soft mat", 30, "a41a0c5793aa9bc3359350864d1d5a01"},
    {"rigid heap", 100, "c1a10d3ad98ca4dc608dad4743f939d3"},
    {"arm and hand", 120, "b73ce186b825d227129e694051f24bdf"},
    {"soft rings", 40, "e126af9e5e03811570da68725df6d19a"},
    {"corrective cube", 60, "e8cc8b5145c22acbbdd6fbfcb61d6844"},
    {"nonsmooth hand", 120, "0f50d94fe6c51e0904219314dc64da27"},
    {"nonsmooth cube", 60, "9c7c111d2674694c14cc8a023c7d542d"},
    {"maximal ball", 40, "031978401c587e554d250973d32fb3ce"},
};

}  // namespace pliant::physics
