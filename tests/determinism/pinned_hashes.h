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
    {"soft ball", 60, "d4b0a26ab4c78d4adaf66f2863a04802"},
    {"soft mat", 30, "10f15c6e45e977642bdeccddf33ec647"},
    {"rigid heap", 100, "2d396337279a61dcbe0996ce2b9790be"},
    {"arm and hand", 120, "e3050d3b9c224fb4655a3065c2d0003f"},
    {"soft rings", 40, "b6c135818f96cdd7f1548a27c38608d5"},
    {"corrective cube", 60, "b9cbb133bd18fa58b49f222fb25f3b5d"},
    {"nonsmooth hand", 120, "0a27c1956b4d17ff42a00d5886797d66"},
    {"nonsmooth cube", 60, "699bf9f99d4a9065c4e68d865b1222ee"},
    {"maximal ball", 40, "36f2838c07a21c8a9e27fa896b60e9af"},
    {"smooth cube", 40, "1ce43d036669a6e6f376b3b698f6b059"},
    {"dough and liquid", 15, "f51b2d4945edb0c7acb74f68d66e075e"},
    {"inflated balls", 30, "02c0f9f65135d85119f2028756b6e26b"},
};

}  // namespace pliant::physics
