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
    {"soft ball", 60, "bc20499171b670bbd5631f0352460e76"},
    {"soft mat", 30, "f6810ddfe917679034c1579df312e719"},
    {"rigid heap", 100, "1b6b14ef659a2961ed030cfae29fc3f0"},
    {"arm and hand", 120, "b679ad1cd4abf4c131a43da04a81c467"},
    {"soft rings", 40, "b6c135818f96cdd7f1548a27c38608d5"},
    {"corrective cube", 60, "86f0d88d789c2bf07738ec239fd21879"},
    {"nonsmooth hand", 120, "dd008b60f9f1b18f9460d903bec75fda"},
    {"nonsmooth cube", 60, "63b89b8a64e69edd7b40de6f07fae2c0"},
    {"maximal ball", 40, "f9d6414bdb29fd0cbe2a60350f8064ca"},
    {"smooth cube", 40, "a5bc6e535affcafef1c16811eeb0df63"},
    {"dough and liquid", 15, "22c501a7aa5918e4eb5c9e04a72521fd"},
    {"inflated balls", 30, "b9296b25ab8b44dab0e79ca3620ea844"},
};

}  // namespace pliant::physics
