#pragma once

#include <cstddef>
#include <span>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// Places of an update matrix's rows in a panel, counted in nodes over the panel's columns, then its
// rows; and the end of each run of consecutive places.
struct PanelRows {
  std::span<const int> places, run_end;
};

// Places of a supernode's rows in its parent's panel.
inline PanelRows RowsOf(const SupernodeLayout& layout, const SupernodeLayout::Supernode& child) {
  return {layout.relative(child), layout.run_end(child)};
}

// Sets columns [begin, end) of a supernode's panel (in nodes) to its `blocks` of A, and to zero
// elsewhere. Offsets count from `panels`. T is double or float.
template <typename T>
void FillColumns(const SupernodeLayout::Supernode& node, int begin, int end,
                 std::span<const SupernodeLayout::Block> blocks, const BlockMatrix& A, T* panels);

// Adds blocks of A to a panel.
void AddBlocks(const SupernodeLayout::Supernode& node,
               std::span<const SupernodeLayout::Block> blocks, const BlockMatrix& A,
               double* panels);

// Reads these blocks of A back from the panel. Only the lower triangle of diagonal blocks is
// meaningful.
void ReadBlocks(const SupernodeLayout::Supernode& node,
                std::span<const SupernodeLayout::Block> blocks, const double* panels,
                BlockMatrix* A);

// An update matrix, or the target that one is added to. Only the lower triangle is used; `leading`
// is the column stride.
template <typename T>
struct UpdateMatrixOf {
  T* numbers;
  std::size_t leading;

  // the trailing matrix, from `node` on
  UpdateMatrixOf From(int node) const { return {numbers + 3 * node * (leading + 1), leading}; }
};

using UpdateMatrix = UpdateMatrixOf<double>;

// Adds columns [begin, end) of an update matrix to a target whose row and column 0 are place
// `first`.
template <typename T>
void ExtendAdd(const PanelRows& rows, const UpdateMatrixOf<T>& update, int begin, int end,
               int first, const UpdateMatrixOf<T>& target);

// to ← to + from, n numbers.
template <typename T>
void AddTo(int n, const T* from, T* to);

}  // namespace pliant::solvers
