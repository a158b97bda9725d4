#pragma once

#include <memory>

#include "physics/fem/fem_model.h"

namespace pliant::physics {

// One FEM body over one step: poses A and m(v0) (han2023 (8)–(11)), factors A with the nodes in
// contact last.
std::unique_ptr<BlockStep> MakeFemStep(std::shared_ptr<const FemModel> model);

// Whether bodies of this shape, of materials that are quadratic, are worth a batch: neither so
// small that most of their nodes take part in contact, nor so large that eight factors of them
// leave the cache.
bool IsWorthFemBatch(const FemModel& model);

// Up to eight FEM bodies of the shape of this one, factored in the lanes of vectors.
std::unique_ptr<BlockBatch> MakeFemBatch(std::shared_ptr<const FemRestShape> shape);

}  // namespace pliant::physics
