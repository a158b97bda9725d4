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
    {"soft ball", 60, "83ae43ccdba7c72ccc8b572a31154bc7"},
    {"soft mat", 30, "90c7bb13c7866fadd992905fe5ae6039"},
    {"rigid heap", 100, "e996ecafb03cc3c99fad346e45467443"},
    {"arm and hand", 120, "d1370306449f469f1e9d75e8bcea86cf"},
    {"soft rings", 40, "0bb08abed21c51e8732803e2f8964837"},
    {"corrective cube", 60, "ab83794fc7a355029dc98c93698d23a9"},
    {"nonsmooth hand", 120, "10be1ff923fcf30dbac1c956d9ebcb16"},
    {"nonsmooth cube", 60, "9cfc8d23dac59814fb7d6b80e0d3c13b"},
    {"maximal ball", 40, "5df4bfcfa92092a13574aa9d5aefc8f7"},
    {"smooth cube", 40, "0ee8813df7eb2d856fc752c3f1281945"},
    {"dough and liquid", 15, "b81c2da341c99f55a32e671962802073"},
    {"inflated balls", 30, "ce986765b29cab8fa474e514ae07d23f"},
};

}  // namespace pliant::physics
