#pragma once

#include <cstddef>
#include <vector>

#include "solvers/nonsmooth/block_masses.h"
#include "solvers/nonsmooth/sparse_cholesky.h"

namespace pliant::solvers {

// Assembles J H⁻¹ Jᵀ for solvers that need its entries. Rows are added in blocks, in their order.
class AssembledProduct {
 public:
  void Begin(const BlockMasses& H);
  // Starts a block of `height` rows; later entries belong to it.
  void AddRows(int height);
  // Adds J of the current rows for `columns` velocities from `first` on; element (r, c) is at
  // values[r · row_step + c · column_step].
  void AddEntry(int first, int columns, const double* values, int row_step, int column_step);
  void Finish(SparseMatrix* matrix);

 private:
  struct Rows {
    int first, height;
    int first_touch, num_touches;
  };
  // A part of H that a block of rows is coupled with: J for that part, by rows, and H⁻¹ Jᵀ, by
  // columns.
  struct Touch {
    int rows, part;
    std::size_t J, T;
  };

  const BlockMasses* H_ = nullptr;
  std::vector<int> part_of_;  // of each velocity
  std::vector<Rows> rows_;
  std::vector<Touch> touches_;
  std::vector<double> J_, T_, sums_;
  std::vector<int> starts_, touching_;  // touches of each part
  std::vector<int> place_;              // of a block's sum among `sums_`, −1: none
  std::vector<int> neighbours_;
};

}  // namespace pliant::solvers
