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
    {"soft ball", 60, "25def0993476cf27ff9ac2ec0fc5d319"},
    {"soft mat", 30, "8159e83681923e6d22cb254ec1413297"},
    {"rigid heap", 100, "09d58fe7669b9431e569e50b4563c4cc"},
    {"arm and hand", 120, "eb46a2bb0fd99a7445b4461cb120c5fd"},
    {"soft rings", 40, "64fcd858b7360eb772efb4b36466e20e"},
    {"corrective cube", 60, "4fea1995b8681c259fb73e00270c65e1"},
    {"nonsmooth cube", 60, "3ccaac203c08e9337c37db274a24f779"},
    {"maximal ball", 40, "a36ca58d91deaea8a3225eea3b88bded"},
};

}  // namespace pliant::physics
