#pragma once

#include <span>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// A non-owning view of a Schur complement: dense when it has few nodes or most of them are coupled,
// else block-sparse. Valid until the owner changes it.
struct SchurComplement {
  SchurComplement() = default;
  // Column-major, both triangles.
  SchurComplement(std::span<const double> matrix) : dense(matrix) {}  // NOLINT: a dense one is one
  SchurComplement(const BlockMatrix* matrix, std::span<const int> elimination_order)
      : sparse(matrix), order(elimination_order) {}

  std::span<const double> dense;
  const BlockMatrix* sparse = nullptr;  // instead of `dense`; a node is three rows
  // fill-reducing order of its nodes; empty if it is too large to factor
  std::span<const int> order;
};

}  // namespace pliant::solvers
