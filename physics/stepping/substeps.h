#pragma once

#include <memory>

#include "physics/stepping/stepper.h"

namespace pliant::physics {

// Wraps a method's stepper. A step that does not converge, or that gains energy, is repeated in two
// halves, these again, down to 1/max_substeps of the step: bodies turn and deform less in each, so
// that the linearisation at its start is more accurate at its end. Halves replace a step that did
// not converge if they do, and any step if they gain less energy than it does.
//
// The energy of a step is checked if a body turns, and always if contacts act along their
// directions at the end of the step (`follows_directions`), since they may then supply energy.
//
// The report is that of the whole step: work, counts and times of its substeps add up, contacts and
// constraint forces are listed for each, and residuals are the largest ones.
std::unique_ptr<Stepper> MakeSubdividingStepper(const Model& model, std::unique_ptr<Stepper> inner,
                                                bool follows_directions);

}  // namespace pliant::physics
