#pragma once

#include <memory>

#include "physics/stepping/stepper.h"

namespace pliant::physics {

// The non-smooth Newton method (macklin2019) in reduced coordinates: free motion, complementarity
// of contacts, limits and friction on the participating velocities, an island at a time.
std::unique_ptr<Stepper> MakeNonsmoothStepper(const Model& model);

}  // namespace pliant::physics
