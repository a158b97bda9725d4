#pragma once

#include <array>
#include <span>
#include <vector>

namespace pliant::solvers {

// Which 3 × 3 blocks of a symmetric matrix exist: the graph of a mesh's nodes. Lower triangle, by
// columns, rows ascending, the diagonal block first in its column.
struct BlockPattern {
  int num_nodes = 0;
  std::vector<int> column_starts;  // num_nodes + 1
  std::vector<int> rows;

  int num_blocks() const { return static_cast<int>(rows.size()); }
  // Index of block (i, j), in either order; −1 when it is not in the pattern.
  int Find(int i, int j) const;
};

// Pattern of the graph in which the nodes of each element are all joined.
BlockPattern MakeBlockPattern(int num_nodes, std::span<const std::array<int, 4>> elements);

// A symmetric matrix of 3 × 3 blocks over a pattern. Block values column-major, of (row ≥ column).
struct BlockMatrix {
  const BlockPattern* pattern = nullptr;
  std::vector<double> values;  // 9 a block

  explicit BlockMatrix(const BlockPattern* p) : pattern(p), values(9 * p->rows.size()) {}

  // y = A x; both of 3 · num_nodes numbers.
  void Multiply(std::span<const double> x, std::span<double> y) const;
  // The same of two vectors, while A is read once.
  void Multiply(std::span<const double> x0, std::span<const double> x1, std::span<double> y0,
                std::span<double> y1) const;
  void CopyDiagonal(std::span<double> diagonal) const;
};

}  // namespace pliant::solvers
