#pragma once

#include <cstddef>
#include <span>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// Where rows of an update matrix stand among a panel's columns, then rows (nodes), and the end of
// the stretch of rows that stand there one after another.
struct PanelRows {
  std::span<const int> places, run_end;
};

// Of a supernode's rows in its parent.
inline PanelRows RowsOf(const SupernodeLayout& layout, const SupernodeLayout::Supernode& child) {
  return {layout.relative(child), layout.run_end(child)};
}

// Sets columns [begin, end) of a supernode's panel (nodes) to the `blocks` of A that belong there,
// and zero elsewhere. `panels` is where offsets count from. T is double or float.
template <typename T>
void FillColumns(const SupernodeLayout::Supernode& node, int begin, int end,
                 std::span<const SupernodeLayout::Block> blocks, const BlockMatrix& A, T* panels);

// Adds blocks of A to a panel.
void AddBlocks(const SupernodeLayout::Supernode& node,
               std::span<const SupernodeLayout::Block> blocks, const BlockMatrix& A,
               double* panels);

// Of A these blocks, from the panel. Of those on the diagonal only the lower triangle is of use.
void ReadBlocks(const SupernodeLayout::Supernode& node,
                std::span<const SupernodeLayout::Block> blocks, const double* panels,
                BlockMatrix* A);

// An update matrix, of which the lower triangle is of use, or where one is to be added: `leading`
// numbers a column.
template <typename T>
struct UpdateMatrixOf {
  T* numbers;
  std::size_t leading;

  // without the first nodes
  UpdateMatrixOf From(int node) const { return {numbers + 3 * node * (leading + 1), leading}; }
};

using UpdateMatrix = UpdateMatrixOf<double>;

// Adds columns [begin, end) of an update matrix to a target whose column and row 0 stand for place
// `first`.
template <typename T>
void ExtendAdd(const PanelRows& rows, const UpdateMatrixOf<T>& update, int begin, int end,
               int first, const UpdateMatrixOf<T>& target);

// to ← to + from, n numbers.
template <typename T>
void AddTo(int n, const T* from, T* to);

}  // namespace pliant::solvers
