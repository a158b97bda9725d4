#pragma once

#include <array>
#include <span>
#include <vector>

namespace pliant::solvers {

// Sparsity pattern of the 3 × 3 blocks of a symmetric matrix: the graph of a mesh's nodes. Lower
// triangle, by columns, rows ascending, the diagonal block first in its column.
struct BlockPattern {
  int num_nodes = 0;
  std::vector<int> column_starts;  // num_nodes + 1
  std::vector<int> rows;

  int num_blocks() const { return static_cast<int>(rows.size()); }
  // Index of block (i, j), in either order; −1 when it is not in the pattern.
  int Find(int i, int j) const;
};

// Pattern that couples all nodes of each element.
BlockPattern MakeBlockPattern(int num_nodes, std::span<const std::array<int, 4>> elements);

// A symmetric matrix of 3 × 3 blocks with a given pattern. Stores the blocks with row ≥ column,
// column-major.
struct BlockMatrix {
  const BlockPattern* pattern = nullptr;
  std::vector<double> values;  // 9 a block

  explicit BlockMatrix(const BlockPattern* p) : pattern(p), values(9 * p->rows.size()) {}

  // y = A x; both of 3 · num_nodes numbers.
  void Multiply(std::span<const double> x, std::span<double> y) const;
  // y0 = A x0 and y1 = A x1 in one pass over A.
  void Multiply(std::span<const double> x0, std::span<const double> x1, std::span<double> y0,
                std::span<double> y1) const;
  void CopyDiagonal(std::span<double> diagonal) const;
};

}  // namespace pliant::solvers
