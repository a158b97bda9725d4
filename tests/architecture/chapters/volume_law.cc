// docs/extending.md, "A volume law": it is registered; the tests of all laws run on it.

#include "physics/fem/volume/volume_law.h"

#include <gtest/gtest.h>

namespace pliant::physics {

TEST(Chapter, AddsAVolumeLaw) {
  EXPECT_NE(FindVolumeLaw("STIFFENING"), nullptr);
}

}  // namespace pliant::physics
