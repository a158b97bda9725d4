// The volume law of docs/extending.md is registered; the tests of all volume laws cover it.

#include "physics/fem/volume/volume_law.h"

#include <gtest/gtest.h>

namespace pliant::physics {

TEST(Chapter, AddsAVolumeLaw) {
  EXPECT_NE(FindVolumeLaw("STIFFENING"), nullptr);
}

}  // namespace pliant::physics
