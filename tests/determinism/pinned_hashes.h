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
    {"soft ball", 60, "13d58f15d9730d8ed3195f8747f2643e"},
    {"soft mat", 30, "a41a0c5793aa9bc3359350864d1d5a01"},
    {"rigid heap", 100, "95b9bddd871c90abe1fe5a9c6800ed4c"},
    {"arm and hand", 120, "b73ce186b825d227129e694051f24bdf"},
    {"soft rings", 40, "8d26580d2e31e5aba7940db815041066"},
    {"corrective cube", 60, "044b089a5270926d0d4d77c080c28241"},
    {"nonsmooth hand", 120, "0f50d94fe6c51e0904219314dc64da27"},
    {"nonsmooth cube", 60, "aa7a0be281e2c5d88f1f241dbac460a7"},
    {"maximal ball", 40, "948e878673ec55432c26a525d42c672b"},
};

}  // namespace pliant::physics
