#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// Integer coordinates of a node of an unbounded grid. They are ordered lexicographically: x first.
using GridPoint = std::array<int, 3>;

// Nodes and sparsity pattern of a grid whose cells couple their 27 nodes base + {0, 1, 2}³, as
// particles with quadratic kernels do. Nodes are numbered by ascending coordinates, and those of a
// cell by a = 9 x + 3 y + z of their offset; both orders agree, so the lower triangle of a cell's
// matrix falls into the lower triangle of the whole.
//
// Update takes time proportional to the number of cells. Reuses its memory.
class GridPattern {
 public:
  static constexpr int kCellNodes = 27;
  static constexpr int kCellBlocks = kCellNodes * (kCellNodes + 1) / 2;

  // Finds nodes and pattern for these cells: base coordinates, ascending, each once. False when
  // they are those of the last call, so that everything derived from the pattern stays valid.
  bool Update(std::span<const GridPoint> cells);

  std::span<const GridPoint> nodes() const { return nodes_; }
  // Pattern with blocks of coupled nodes only. Update fills it in place.
  const BlockPattern& pattern() const { return pattern_; }

  // Numbers of the nodes at base + {0, 1, 2}³, in the order of a cell's; −1 where there is none.
  std::array<int, kCellNodes> FindNodesFrom(const GridPoint& base) const;
  // Nodes of a cell, ascending.
  std::array<int, kCellNodes> NodesOf(int cell) const;
  // Finds the blocks of a cell's nodes in the pattern: by columns b, each with its rows a ≥ b.
  void FindBlocks(int cell, std::span<int, kCellBlocks> blocks) const;

 private:
  // A cell has nine lines of three nodes along z, by 3 x + y of their offset.
  static constexpr int kCellLines = 9;
  // A column couples its node with nodes on 13 lines, by 5 dx + dy from the node's own: (0, 0),
  // (0, 1), (0, 2), (1, −2) … (2, 2).
  static constexpr int kColumnLines = 13;
  // The nodes on such a line. They are consecutive, and one of them has the z of the column: a cell
  // that reaches any other contains all in between.
  struct ColumnLine {
    int node;                 // at the z of the column; −1: the line has no nodes
    int block;                // of this node
    std::int8_t first, last;  // z of the others, from that of the column
  };

  void FindNodes();
  void FindCellLines();
  void FindColumnLines();
  void FillPattern();

  std::vector<GridPoint> cells_, nodes_, dilated_;
  std::vector<std::array<int, kCellLines>> cell_lines_;  // first node of each line
  std::vector<std::array<ColumnLine, kColumnLines>> column_lines_;
  BlockPattern pattern_;
};

}  // namespace pliant::solvers
