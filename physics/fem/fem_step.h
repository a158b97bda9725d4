#pragma once

#include <memory>

#include "physics/fem/fem_model.h"

namespace pliant::physics {

// One step of one FEM body: assembles A and m(v0) (han2023 (8)–(11)), and factors A with the nodes
// in contact last.
std::unique_ptr<BlockStep> MakeFemStep(std::shared_ptr<const FemModel> model);

}  // namespace pliant::physics
