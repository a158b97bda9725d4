#pragma once

#include <memory>

#include "physics/stepping/stepper.h"

namespace pliant::physics {

// The corrective method (zeng2022): free motion; compliance W_H = Σ H A⁻¹ Hᵀ of the mapped degrees
// of freedom, built once per step; recursive corrective motion on contact frames that turn with it;
// then the motion due to the resulting forces.
std::unique_ptr<Stepper> MakeCorrectiveStepper(const Model& model);

}  // namespace pliant::physics
