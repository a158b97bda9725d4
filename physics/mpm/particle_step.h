#pragma once

#include <memory>

#include "physics/mpm/particle_model.h"

namespace pliant::physics {

// One step of all particles of a world: transfers them to the grid, sets up and solves the momentum
// balance of its nodes, and transfers the result back to the particles (zong2024 §III, §IV).
std::unique_ptr<BlockStep> MakeParticleStep(std::shared_ptr<const ParticleModel> model);

}  // namespace pliant::physics
