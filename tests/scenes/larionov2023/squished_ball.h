#pragma once

#include "tests/scenes/shipped_scene.h"

namespace pliant::physics {

inline constexpr double kAtmospherePa = 101325;
inline constexpr double kSqueezed = 0.8;  // time at which the plates stand still [s]

// Contents and wall of the ball (larionov2023 Table II).
struct Squish {
  const char *law, *bulk_modulus, *youngs_modulus;
};
inline constexpr Squish kAirLike = {"QUADRATIC", "101325", "1e5"};       // (a)
inline constexpr Squish kWaterLike = {"QUADRATIC", "1.01325e7", "1e5"};  // (b)
inline constexpr Squish kGas = {"IDEAL_GAS", "", "1e5"};
inline constexpr Squish kEmpty = {"QUADRATIC", "1", "1e6"};  // (d): 1 Pa is negligible beside E

inline World LoadSquish(const Squish& squish, double edge_length, double h,
                        std::vector<std::string> overrides = {}) {
  overrides.push_back(absl::StrCat("time_step=", h));
  overrides.push_back(absl::StrCat("bodies[0].deformable.mesh.edge_length=", edge_length));
  overrides.push_back(
      absl::StrCat("bodies[0].deformable.material.youngs_modulus=", squish.youngs_modulus));
  std::string volume = absl::StrCat("body: ball, cavity: true, law: ", squish.law);
  if (*squish.bulk_modulus != 0) absl::StrAppend(&volume, ", bulk_modulus: ", squish.bulk_modulus);
  overrides.push_back(absl::StrCat("constraints[0].volume={", volume, "}"));
  return LoadShipped("ball_squish", overrides);
}

inline double CavityOf(const World& world) {
  const Model& model = world.model();
  const Body& body = model.bodies[FindBody(model, "ball")];
  return model.abilities_of(body).volumes->CalcEnclosedVolume(
      model.StateOf(world.state(), body.block), 0);
}

// Part of the cavity's volume that the ball has lost when the plates stand still.
inline double CalcLoss(World* world) {
  const double before = CavityOf(*world);
  RunUntil(kSqueezed, world);
  return 1 - CavityOf(*world) / before;
}

}  // namespace pliant::physics
