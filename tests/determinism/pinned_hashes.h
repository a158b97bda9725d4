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
    {"soft ball", 60, "02b64a34b30acb8ae384be68eb695e73"},
    {"soft mat", 30, "4943f9b1d1e14e938fc842641822df15"},
    {"rigid heap", 100, "e996ecafb03cc3c99fad346e45467443"},
    {"arm and hand", 120, "fcf6437cdccf1b9fe51fe222a8f6ee33"},
    {"soft rings", 40, "a5bfebce6ccb34767d0ec5f05fe6d5b3"},
    {"corrective cube", 60, "7fe7ae0dafc459c6ee62dac85d791e89"},
    {"nonsmooth hand", 120, "7a7f3e6b4dab94e38533f40aff88c4bb"},
    {"nonsmooth cube", 60, "383737f4fb69a48c6734a002f76a726d"},
    {"maximal ball", 40, "36f2838c07a21c8a9e27fa896b60e9af"},
};

}  // namespace pliant::physics
