#pragma once

#include <memory>

#include "physics/stepping/stepper.h"

namespace pliant::physics {

// The convex method (han2023): free motion, then SAP on the participating velocities.
std::unique_ptr<Stepper> MakeConvexStepper(const Model& model);

}  // namespace pliant::physics
