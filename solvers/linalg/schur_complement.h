#pragma once

#include <span>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// A Schur complement that is not owned: dense where the nodes are few or most of them
// coupled, else block-sparse. A view, valid until its owner changes it.
struct SchurComplement {
  SchurComplement() = default;
  // Column-major, both triangles.
  SchurComplement(std::span<const double> matrix) : dense(matrix) {}  // NOLINT: a dense one is one
  SchurComplement(const BlockMatrix* matrix, std::span<const int> elimination_order)
      : sparse(matrix), order(elimination_order) {}

  std::span<const double> dense;
  const BlockMatrix* sparse = nullptr;  // in place of it: a node is three rows
  std::span<const int> order;           // in which its nodes fill in least
};

}  // namespace pliant::solvers
