#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "physics/dynamics/body_motions.h"
#include "physics/dynamics/constraint_row.h"
#include "physics/dynamics/inputs.h"
#include "physics/dynamics/model.h"

namespace pliant::physics {

// Appends the rows of the model's constraints: welds and balls hold two frames together, distances
// two points, couplers a linear combination of joint positions. `motions` are of `state`; `h` is
// the length of the step [s]. Constraints on a block that is not awake are skipped.
void AppendModelConstraints(const Model& model, const State& state, const BodyMotions& motions,
                            double h, const std::function<bool(int block)>& is_awake,
                            ConstraintSet* constraints);

// Appends three rows for each spring on a point of a body that moves. Together they keep the force
// within its limit, and let it reach the limit along the present stretch.
void AppendSprings(const Model& model, const State& state, const BodyMotions& motions,
                   std::span<const Inputs::PointSpring> springs, ConstraintSet* constraints);

}  // namespace pliant::physics
