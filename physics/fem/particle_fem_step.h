#pragma once

#include <memory>

#include "physics/fem/fem_model.h"

namespace pliant::physics {

// One FEM body over one backward Euler step in compliance form (macklin2019 §9): nodes are
// particles with lumped masses, and each tetrahedron is a set of six rows, the components of S − I
// of F = R S, by R of the step's start for materials that are quadratic in F, and by polar(F) as it
// moves for others. Not for plane strain and mean dilatation.
std::unique_ptr<BlockStep> MakeParticleFemStep(std::shared_ptr<const FemModel> model);

}  // namespace pliant::physics
