// The particle material of docs/extending.md is registered; the tests of all particle materials
// cover it.

#include "physics/mpm/materials/particle_material.h"

#include <gtest/gtest.h>

namespace pliant::physics {

TEST(Chapter, AddsAParticleMaterial) {
  EXPECT_NE(FindParticleMaterial("KELVIN_VOIGT"), nullptr);
}

}  // namespace pliant::physics
