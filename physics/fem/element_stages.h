#pragma once

#include <span>
#include <vector>

#include "physics/fem/elements.h"
#include "solvers/linalg/parallel.h"

namespace pliant::physics {

// Ranges of batches (stretches), grouped into stages. Stretches of one stage share no node, so they
// can add to nodes in parallel. The order in which elements add to a node depends on the mesh
// alone, never on the threads.
class ElementStages {
 public:
  struct Stretch {
    int begin, end;  // batches
  };

  // Covers the first `count` batches; a small count gives a single stretch.
  ElementStages(std::span<const ElementBatch> batches, int count, int num_nodes);

  // Calls f(begin, end) for every stretch, in parallel within a stage.
  template <typename F>
  void ForEach(const F& f) const {
    for (int stage = 0; stage < num_stages(); ++stage) {
      const std::span<const Stretch> all = stretches(stage);
      if (all.size() == 1) {
        f(all[0].begin, all[0].end);
      } else {
        solvers::ParallelForWithin(static_cast<int>(all.size()), 1,
                                   [&](int i) { f(all[i].begin, all[i].end); });
      }
    }
  }

  int num_stages() const { return static_cast<int>(stage_starts_.size()) - 1; }
  std::span<const Stretch> stretches(int stage) const {
    return std::span(stretches_)
        .subspan(stage_starts_[stage], stage_starts_[stage + 1] - stage_starts_[stage]);
  }
  int num_stretches() const { return static_cast<int>(stretches_.size()); }

 private:
  std::vector<Stretch> stretches_;
  std::vector<int> stage_starts_;
};

}  // namespace pliant::physics
