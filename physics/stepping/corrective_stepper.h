#pragma once

#include <memory>

#include "physics/stepping/stepper.h"

namespace pliant::physics {

// The corrective method (zeng2022): free motion, compliance W_H = Σ H A⁻¹ Hᵀ of what carries the
// contacts, built once a step, and recursive corrective motion on frames that turn with it; then
// the motion that the forces found cause.
std::unique_ptr<Stepper> MakeCorrectiveStepper(const Model& model);

}  // namespace pliant::physics
