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
    {"soft ball", 60, "1a503e6188b4bf6656db72de7303ede1"},
    {"soft mat", 30, "d4763702769b39b87de2457ff06398fd"},
    {"rigid heap", 100, "79f0d3d016498e0d99131c366d5fe55b"},
    {"arm and hand", 120, "be81b8312a82dfa3dae023a031725e3f"},
    {"soft rings", 40, "593afc775ba2f489298cbd387e195f4e"},
    {"corrective cube", 60, "4fea1995b8681c259fb73e00270c65e1"},
    {"nonsmooth hand", 120, "d39dd08abf443bf843242721bc77b06d"},
    {"nonsmooth cube", 60, "1aa2defec63e492154980b182a3e0b9f"},
    {"maximal ball", 40, "799bd0025a41ed48dd9ad2322dd16442"},
};

}  // namespace pliant::physics
