#pragma once

#include <cstdio>
#include <cstdlib>

// Stops the program when an invariant of ours is broken. Never used on what a user gave: that
// returns absl::Status.
#define PLIANT_DEMAND(condition)                                                          \
  do {                                                                                    \
    if (!(condition)) [[unlikely]] {                                                      \
      std::fprintf(stderr, "pliant: broken invariant at %s:%d: %s\n", __FILE__, __LINE__, \
                   #condition);                                                           \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
