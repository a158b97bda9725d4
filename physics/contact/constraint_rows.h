#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/constraint_row.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// Appends the rows of the model's constraints: welds and balls hold two frames together, distances
// two points, couplers a linear combination of joint positions. `motions` are of `state`.
// Constraints on a block that is not awake are skipped.
void AppendModelConstraints(const Model& model, const State& state, const BodyMotions& motions,
                            double h, const std::function<bool(int block)>& is_awake,
                            ConstraintSet* constraints);

}  // namespace pliant::physics
