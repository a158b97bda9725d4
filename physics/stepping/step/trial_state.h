#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "physics/stepping/step/stages.h"

namespace pliant::physics {

// Writes the velocities of a block in the space of its step, given those that participate.
inline void CompleteBlock(const StepStages& stages, int block,
                          std::span<const double> v_participating, std::vector<double>* v) {
  const std::span<const double> v_free = stages.blocks.spaces.Part(block, stages.reduction.v_star);
  v->assign(v_free.begin(), v_free.end());
  if (stages.participation.index_of_block[block] >= 0)
    stages.blocks.steps[block]->Complete(v_participating, *v);
}

// A block's state at the end of a step, for velocities that are not committed. Reuses its memory.
class TrialState {
 public:
  // State of a block after its step from `start` with velocities `v`, in the space of the step.
  // Valid until the next call.
  BlockState Integrate(const BlockStep& step, const BlockState& start, std::span<const double> v) {
    q_.assign(start.q.begin(), start.q.end());
    v_.assign(start.v.begin(), start.v.end());
    internals_.assign(start.internals.begin(), start.internals.end());
    step.Integrate(v, {q_, v_, &internals_});
    return {q_, v_, internals_};
  }

 private:
  std::vector<double> q_, v_, internals_;
};

}  // namespace pliant::physics
