#pragma once

#include <memory>

#include "physics/dynamics/block.h"
#include "physics/fem/fem_model.h"

namespace pliant::physics {

// The equation of motion of a FEM body: M a + α M v = f(q) + f_β(q, v) + loads, with the consistent
// mass, rotations of elements where they are, and damping f_β by strain rates, which is β K v for
// small strains. x is the displacement of the nodes.
std::unique_ptr<ForceBalance> MakeFemBalance(std::shared_ptr<const FemModel> model);

// The step that goes with it, whose A are the masses of the nodes.
std::unique_ptr<BlockStep> MakeFemMassStep(std::shared_ptr<const FemModel> model);

}  // namespace pliant::physics
