#pragma once

#include <memory>

#include "physics/dynamics/block.h"
#include "physics/fem/fem_model.h"

namespace pliant::physics {

// The equation of motion of a FEM body: M a + α M v = f(q) + f_β(q, v) + loads, with the consistent
// mass M, elements corotated at q, and strain-rate damping f_β, which is −β K v for small strains.
// x is the displacement of the nodes [m].
std::unique_ptr<ForceBalance> MakeFemBalance(std::shared_ptr<const FemModel> model);

// The step for use with MakeFemBalance, whose A is the lumped mass.
std::unique_ptr<BlockStep> MakeFemMassStep(std::shared_ptr<const FemModel> model);

}  // namespace pliant::physics
