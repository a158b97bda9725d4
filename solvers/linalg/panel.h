#pragma once

#include <cstddef>
#include <span>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// Where rows of an update matrix stand among a panel's columns, then rows (nodes), and the end of the stretch of rows that
// stand there one after another.
struct PanelRows {
  std::span<const int> places, run_end;
};

// Finds these ends.
void FindRuns(std::span<const int> places, std::span<int> run_end);

// Sets columns [begin, end) of a supernode's panel (nodes) to the `blocks` of A that belong there, and zero elsewhere. `panels`
// is where offsets count from.
void FillColumns(const SupernodeLayout::Supernode& node, int begin, int end,
                 std::span<const SupernodeLayout::Block> blocks, const BlockMatrix& A,
                 double* panels);

// Adds blocks of A to a panel.
void AddBlocks(const SupernodeLayout::Supernode& node,
               std::span<const SupernodeLayout::Block> blocks, const BlockMatrix& A,
               double* panels);

// Of A these blocks, from the panel. Of those on the diagonal only the lower triangle is of use.
void ReadBlocks(const SupernodeLayout::Supernode& node,
                std::span<const SupernodeLayout::Block> blocks, const double* panels,
                BlockMatrix* A);

// An update matrix, of which the lower triangle is of use, or where one is to be added: `leading` numbers a column.
struct UpdateMatrix {
  double* numbers;
  std::size_t leading;

  // without the first nodes
  UpdateMatrix From(int node) const { return {numbers + 3 * node * (leading + 1), leading}; }
};

// Adds columns [begin, end) of an update matrix to a target whose column and row 0 stand for place `first`.
void ExtendAdd(const PanelRows& rows, const UpdateMatrix& update, int begin, int end, int first,
               const UpdateMatrix& target);

// to ← to + from, n numbers.
void AddTo(int n, const double* from, double* to);

}  // namespace pliant::solvers
