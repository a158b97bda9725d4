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
    {"soft ball", 60, "18dacaa9a8e5f99fa414fc1c5273110c"},
    {"soft mat", 30, "84d39313cbdc010054a20e7c2951609e"},
    {"rigid heap", 100, "09d58fe7669b9431e569e50b4563c4cc"},
    {"arm and hand", 120, "fd2af9bd8cd18ac82dfeb077da52cb11"},
    {"soft rings", 40, "a8fd0252718bd68a00ba4913e4d59119"},
    {"corrective cube", 60, "0907b6377d78b77c3dc4173397b5a36d"},
    {"nonsmooth cube", 60, "307d3e32f3a280edc5405765a85d3166"},
    {"maximal ball", 40, "bf0a1d31fb6d209a85544d059b7153e5"},
};

}  // namespace pliant::physics
