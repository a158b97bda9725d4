// docs/extending.md, "A particle material": it is registered; the tests of all particle materials
// run on it.

#include "physics/mpm/materials/particle_material.h"

#include <gtest/gtest.h>

namespace pliant::physics {

TEST(Chapter, AddsAParticleMaterial) {
  EXPECT_NE(FindParticleMaterial("KELVIN_VOIGT"), nullptr);
}

}  // namespace pliant::physics
