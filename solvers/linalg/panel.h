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
// elsewhere. Offsets count from `panels`.
void FillColumns(const SupernodeLayout::Supernode& node, int begin, int end,
                 std::span<const SupernodeLayout::Block> blocks, const BlockMatrix& A,
                 double* panels);

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
struct UpdateMatrix {
  double* numbers;
  std::size_t leading;

  // the trailing matrix, from `node` on
  UpdateMatrix From(int node) const { return {numbers + 3 * node * (leading + 1), leading}; }
};

// Adds columns [begin, end) of an update matrix to a target whose row and column 0 are place
// `first`.
void ExtendAdd(const PanelRows& rows, const UpdateMatrix& update, int begin, int end, int first,
               const UpdateMatrix& target);

// to ← to + from, n numbers.
void AddTo(int n, const double* from, double* to);

}  // namespace pliant::solvers
