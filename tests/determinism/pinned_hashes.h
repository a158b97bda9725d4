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
    {"soft ball", 60, "a1c79df6f9446da96617781062638dd9"},
    {"soft mat", 30, "0ed47faeb321f9db45ceffcc784247ab"},
    {"rigid heap", 100, "79f0d3d016498e0d99131c366d5fe55b"},
    {"arm and hand", 120, "1108bfa4e8c108d8c88684106a1b94e3"},
    {"soft rings", 40, "95871203e8b96cc3da69cce279d4de3f"},
    {"corrective cube", 60, "023e8f7ab7fc7c18d1bb59350a9f2113"},
    {"nonsmooth hand", 120, "f977fe416a45b65acecf6262e5fd28cb"},
    {"nonsmooth cube", 60, "25d931a00860c2fce8748bd4403dc248"},
    {"maximal ball", 40, "799bd0025a41ed48dd9ad2322dd16442"},
};

}  // namespace pliant::physics
