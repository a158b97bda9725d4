#pragma once

#include <memory>

#include "physics/dynamics/model.h"
#include "physics/stepping/stepper.h"

namespace pliant::physics {

// Stepper of larionov2023: contact and friction as smooth forces, implicit in positions and
// velocities, with any integrator of integrators/stage_rule.h. See docs/methods.md, "The smooth
// method".
std::unique_ptr<Stepper> MakeSmoothStepper(const Model& model);

}  // namespace pliant::physics
