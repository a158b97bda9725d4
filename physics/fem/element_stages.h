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

  // A few batches give a single stretch.
  ElementStages(std::span<const ElementBatch> batches, int num_nodes);

  // Calls f(begin, end) for every stretch, in parallel within a stage.
  template <typename F>
  void ForEach(const F& f) const {
    ForEachNumbered([&](int, int begin, int end) { f(begin, end); });
  }
  // Returns the sum of f(begin, end) over all stretches.
  template <typename F>
  Lane Sum(const F& f) const {
    if (num_stretches() == 1) return f(stretches_[0].begin, stretches_[0].end);
    std::vector<Lane> parts(num_stretches());
    ForEachNumbered([&](int k, int begin, int end) { parts[k] = f(begin, end); });
    Lane sum = parts[0];
    for (std::size_t k = 1; k < parts.size(); ++k) sum += parts[k];
    return sum;
  }

  int num_stages() const { return static_cast<int>(stage_starts_.size()) - 1; }
  std::span<const Stretch> stretches(int stage) const {
    return std::span(stretches_)
        .subspan(stage_starts_[stage], stage_starts_[stage + 1] - stage_starts_[stage]);
  }
  int num_stretches() const { return static_cast<int>(stretches_.size()); }

 private:
  template <typename F>
  void ForEachNumbered(const F& f) const {
    for (int stage = 0; stage < num_stages(); ++stage) {
      const int first = stage_starts_[stage];
      const auto call = [&](int i) {
        f(first + i, stretches_[first + i].begin, stretches_[first + i].end);
      };
      const int count = stage_starts_[stage + 1] - first;
      if (count == 1) {
        call(0);
      } else {
        solvers::ParallelForWithin(count, 1, call);
      }
    }
  }

  std::vector<Stretch> stretches_;
  std::vector<int> stage_starts_;
};

}  // namespace pliant::physics
