// docs/extending.md, "A material": it is registered; the tests of all materials run on it.

#include "physics/fem/materials/material.h"

#include <gtest/gtest.h>

namespace pliant::physics {

TEST(Chapter, AddsAMaterial) {
  EXPECT_NE(FindMaterial("DILATANT"), nullptr);
}

}  // namespace pliant::physics
