#pragma once

#include "physics/mpm/materials/particle_material.h"

namespace pliant::physics {

// The first two parameters of every solid.
inline constexpr ParticleParameter kYoungsModulus = {
    "youngs_modulus", "a positive modulus in pascals. Rubber is about 1e6, dough 1e4", 1e-6, 1e15,
    1e5};
inline constexpr ParticleParameter kPoissonsRatio = {
    "poissons_ratio", "a number in (-1, 0.5). Most materials have 0.3 to 0.45", -1 + 1e-12,
    0.5 - 1e-12, 0.35};

struct ElasticModuli {
  double mu, lambda;  // Lamé parameters [Pa]
  double bulk() const { return lambda + mu * 2 / 3; }
};
inline ElasticModuli CalcElasticModuli(const double* young_and_poisson) {
  const double E = young_and_poisson[0], nu = young_and_poisson[1];
  return {E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))};
}

// Volume ratio that divides Kirchhoff stress to give Cauchy stress. It is bounded from below, so
// that the stress of a collapsed particle stays finite.
inline double CalcVolumeRatio(double det_F) {
  constexpr double kMinRatio = 1e-6;
  return det_F < kMinRatio ? kMinRatio : det_F;
}

}  // namespace pliant::physics
