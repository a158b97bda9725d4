// The material of docs/extending.md is registered; the tests of all materials cover it.

#include "physics/fem/materials/material.h"

#include <gtest/gtest.h>

namespace pliant::physics {

TEST(Chapter, AddsAMaterial) {
  EXPECT_NE(FindMaterial("DILATANT"), nullptr);
}

}  // namespace pliant::physics
