#pragma once

#include <cstddef>
#include <vector>

namespace pliant::solvers {

// A square sparse matrix as a sum of small dense blocks. Entries of one place add up in the order
// in which they were added, so sums do not depend on threads.
struct BlockSum {
  struct Entry {
    int row, column;
    double value;
  };
  int size = 0;
  std::vector<Entry> entries;

  void Clear(int new_size) {
    size = new_size;
    entries.clear();
  }
  void Add(int row, int column, double value) { entries.push_back({row, column, value}); }
  // A block whose first entry is at (row, column); `values` column-major, columns `stride` apart.
  void Add(int row, int column, int height, int width, const double* values, int stride) {
    for (int j = 0; j < width; ++j) {
      for (int i = 0; i < height; ++i)
        Add(row + i, column + j, values[std::size_t(j) * stride + i]);
    }
  }
};

}  // namespace pliant::solvers
