#pragma once

#include <cstddef>
#include <vector>

namespace pliant::solvers {

// A square sparse matrix as a sum of small dense blocks, and of outer products of sparse columns.
// Entries of one place add up in the order in which they were added, so sums do not depend on
// threads.
struct BlockSum {
  struct Entry {
    int row, column;
    double value;
  };
  // weight · u uᵀ, which is dense in the places of u and therefore kept as a product.
  struct Outer {
    double weight;
    std::vector<int> places;
    std::vector<double> values;  // of u
  };
  int size = 0;
  std::vector<Entry> entries;
  std::vector<Outer> outers;

  void Clear(int new_size) {
    size = new_size;
    entries.clear();
    outers.clear();
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
