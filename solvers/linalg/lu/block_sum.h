#pragma once

#include <cstddef>
#include <span>
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
  // A part of an entry that has no counterpart across the diagonal, such as the change of friction
  // with the normal force. A symmetric approximation leaves it out.
  struct OneSided {
    std::size_t entry;  // index
    double value;
  };
  int size = 0;
  std::vector<Entry> entries;
  std::vector<Outer> outers;
  std::vector<OneSided> one_sided;

  // For a factorisation: starts of the ranges in which unknowns form groups of three, such as the
  // velocities of a node. Ascending from 0.
  std::vector<int> group_starts{0};
  // Number of unknowns at the end, from a group start on, with nearly no diagonal entries, such as
  // impulses of constraints. They are eliminated last.
  int num_last = 0;
  // Number of first entries whose places stay the same from step to step. They determine the order
  // of elimination.
  std::size_t num_lasting = 0;

  void Clear(int new_size) {
    size = new_size;
    entries.clear();
    outers.clear();
    one_sided.clear();
    group_starts.assign(1, 0);
    num_last = 0;
    num_lasting = 0;
  }
  void Add(int row, int column, double value) { entries.push_back({row, column, value}); }
  // A block whose first entry is at (row, column); `values` column-major, columns `stride` apart.
  void Add(int row, int column, int height, int width, const double* values, int stride) {
    for (int j = 0; j < width; ++j) {
      for (int i = 0; i < height; ++i)
        Add(row + i, column + j, values[std::size_t(j) * stride + i]);
    }
  }

  // y ← A x.
  void Multiply(std::span<const double> x, std::span<double> y) const;
};

}  // namespace pliant::solvers
