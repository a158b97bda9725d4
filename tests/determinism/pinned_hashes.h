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
    {"soft ball", 60, "9dfaec13a59193389a195d0968062cce"},
    {"soft mat", 30, "922bc7e7592014ca8315fbd582ab9590"},
    {"rigid heap", 100, "6a4fab366b6402d94f1d65f172c8459d"},
    {"arm and hand", 120, "628432a5f47482fe93b94e5e0f0c1b81"},
    {"soft rings", 40, "0c3f04c22e8d370ac425a39f7413fed9"},
    {"corrective cube", 60, "a3b0417bbf39fbd84cba04f4c1cbb441"},
    {"nonsmooth hand", 120, "c6313526445173a5f69ec081055bf632"},
    {"nonsmooth cube", 60, "9c7c111d2674694c14cc8a023c7d542d"},
    {"maximal ball", 40, "031978401c587e554d250973d32fb3ce"},
};

}  // namespace pliant::physics
