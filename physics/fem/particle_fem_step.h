#pragma once

#include <memory>

#include "physics/fem/fem_model.h"

namespace pliant::physics {

// One backward Euler step of one FEM body in compliance form (macklin2019 §9). Nodes are particles
// with lumped masses, and each tetrahedron gives six rows, the components of S − I in F = R S. R is
// that of the start of the step for materials that are quadratic in F, and follows polar(F) for
// others. Plane strain and mean dilatation are not supported.
std::unique_ptr<BlockStep> MakeParticleFemStep(std::shared_ptr<const FemModel> model);

}  // namespace pliant::physics
