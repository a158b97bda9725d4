#pragma once

#include <cstdio>
#include <cstdlib>

// Stops the program when an internal invariant is broken. Never used on user input, which gets an
// absl::Status.
#define PLIANT_DEMAND(condition)                                                          \
  do {                                                                                    \
    if (!(condition)) [[unlikely]] {                                                      \
      std::fprintf(stderr, "pliant: broken invariant at %s:%d: %s\n", __FILE__, __LINE__, \
                   #condition);                                                           \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
