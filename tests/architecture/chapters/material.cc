// docs/extending.md, "A material": the material is registered, and the tests of every material run on it.

#include <gtest/gtest.h>

#include "physics/fem/materials/material.h"

namespace pliant::physics {

TEST(Chapter, AddsAMaterial) {
  EXPECT_NE(FindMaterial("DILATANT"), nullptr);
}

}  // namespace pliant::physics
