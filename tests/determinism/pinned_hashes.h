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
    {"soft ball", 60, "99f4b2a5fe30dcbe76445261560ba439"},
    {"rigid heap", 100, "af066ffc07acea2a3c38c09f3f5a185a"},
    {"arm and hand", 120, "d7344d55475a8da639961893392f9bcc"},
    {"corrective cube", 60, "eaec5c647441b95cdba94471bfd67c59"},
};

}  // namespace pliant::physics
