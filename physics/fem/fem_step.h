#pragma once

#include <memory>

#include "physics/fem/fem_model.h"

namespace pliant::physics {

// One step of one FEM body: assembles A and m(v0) (han2023 (8)–(11)), and factors A with the nodes
// in contact last.
std::unique_ptr<BlockStep> MakeFemStep(std::shared_ptr<const FemModel> model);

// Whether bodies of this shape, with quadratic materials, are worth batching: neither so small that
// most of their nodes take part in contact, nor so large that eight factors overflow the cache.
bool IsWorthFemBatch(const FemModel& model);

// A batch of up to eight FEM bodies of this shape, factored together in SIMD lanes.
std::unique_ptr<BlockBatch> MakeFemBatch(std::shared_ptr<const FemRestShape> shape);

}  // namespace pliant::physics
