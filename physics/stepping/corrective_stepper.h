#pragma once

#include <memory>

#include "physics/stepping/stepper.h"

namespace pliant::physics {

// The corrective method in its plain form (zeng2022): free motion, compliance W = Σ H A⁻¹ Hᵀ in contact space, one pass
// of projected Gauss–Seidel on totals, corrective motion.
std::unique_ptr<Stepper> MakeCorrectiveStepper(const Model& model);

}  // namespace pliant::physics
