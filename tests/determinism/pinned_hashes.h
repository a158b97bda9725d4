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
    {"soft ball", 60, "0eda7379d2e614d7d2597acec2cd7338"},
    {"soft mat", 30, "d5b2335484a70f1f1e63c386be96aabd"},
    {"rigid heap", 100, "40b880a62d82c4a21668a2c6eae932bd"},
    {"arm and hand", 120, "27d6fc39a749fa1fccb99f355f778a70"},
    {"soft rings", 40, "eb29b3035035144858d09cb8494256c8"},
    {"corrective cube", 60, "a3b0417bbf39fbd84cba04f4c1cbb441"},
    {"nonsmooth hand", 120, "c6313526445173a5f69ec081055bf632"},
    {"nonsmooth cube", 60, "c33cee446eb6795a798ce1dbe031cf3c"},
    {"maximal ball", 40, "32ec16aeb8ce3752a783c91348721109"},
};

}  // namespace pliant::physics
