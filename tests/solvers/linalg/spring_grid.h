#pragma once

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// Matrix of unit masses joined by springs of `stiffness`, which couple the axes too, where the
// pattern couples nodes. Springs between nodes below `num_stiff` are 1e12 times as stiff.
inline BlockMatrix MakeSprings(const BlockPattern& pattern, double stiffness, int num_stiff = 0) {
  BlockMatrix A(&pattern);
  const auto add = [&](int i, int j, double value) {
    double* block = &A.values[9 * std::size_t(pattern.Find(i, j))];
    for (int c = 0; c < 3; ++c)
      for (int r = 0; r < 3; ++r) block[3 * c + r] += r == c ? value : 0.25 * value;
  };
  for (int j = 0; j < pattern.num_nodes; ++j) {
    for (int c = 0; c < 3; ++c) A.values[9 * std::size_t(pattern.column_starts[j]) + 4 * c] += 1;
    for (int k = pattern.column_starts[j] + 1; k < pattern.column_starts[j + 1]; ++k) {
      const int i = pattern.rows[k];
      const double spring = i < num_stiff ? 1e12 * stiffness : stiffness;
      add(i, i, spring);
      add(j, j, spring);
      add(i, j, -spring);
    }
  }
  return A;
}

}  // namespace pliant::solvers
