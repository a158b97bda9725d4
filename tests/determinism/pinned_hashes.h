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
    {"soft ball", 60, "2c178be9f48f08a137f198d4178cfca1"},
    {"soft mat", 30, "352762a20a1395bfb87ac94154a828f3"},
    {"rigid heap", 100, "79f0d3d016498e0d99131c366d5fe55b"},
    {"arm and hand", 120, "4fa6fefee924e3b0fad4d22b431bf897"},
    {"soft rings", 40, "91a25424bec2858b41fad1f2f5dab322"},
    {"corrective cube", 60, "c8a20b4738a2c89beac346d9aed304d9"},
    {"nonsmooth hand", 120, "e508cae5066c7cd6b8fffd6f2e9d17b6"},
    {"nonsmooth cube", 60, "4879a3d7fff7c4a1fce3e465e881c68f"},
    {"maximal ball", 40, "799bd0025a41ed48dd9ad2322dd16442"},
};

}  // namespace pliant::physics
