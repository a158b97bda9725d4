#pragma once

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <Eigen/Core>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/grid/grid_pattern.h"

namespace pliant::solvers {

// The cells of a box of nodes with these numbers of nodes along the axes.
inline std::vector<GridPoint> BoxCells(int x, int y, int z) {
  std::vector<GridPoint> cells;
  for (int i = 0; i + 2 < x; ++i)
    for (int j = 0; j + 2 < y; ++j)
      for (int k = 0; k + 2 < z; ++k) cells.push_back({i, j, k});
  return cells;
}

// Some of the cells of a cube of `size` base points along each axis, around the origin.
inline std::vector<GridPoint> RandomCells(int size, double share, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<GridPoint> cells;
  for (int i = 0; i < size; ++i) {
    for (int j = 0; j < size; ++j) {
      for (int k = 0; k < size; ++k) {
        if (uniform(random) < share) cells.push_back({i - size / 2, j - size / 2, k - size / 2});
      }
    }
  }
  return cells;
}

// Drops of random cells, far apart from one another.
inline std::vector<GridPoint> DropCells() {
  std::vector<GridPoint> cells;
  for (int drop = 0; drop < 6; ++drop) {
    for (GridPoint cell : RandomCells(3, 0.7, 10 + drop)) {
      cell[0] += 1'000'000 * (drop % 2);
      cell[1] -= 2000 * drop;
      cell[2] += 7 * drop;
      cells.push_back(cell);
    }
  }
  std::ranges::sort(cells);
  return cells;
}

// A random symmetric positive definite matrix: a sum of matrices B Bᵀ of cells, plus `mass` on the
// diagonal. `visit(cell, K)` is called with the matrix of each cell.
template <typename Visit>
BlockMatrix MakeRandomGridMatrix(const GridPattern& grid, int num_cells, double mass, unsigned seed,
                                 const Visit& visit) {
  constexpr int kNodes = GridPattern::kCellNodes;
  BlockMatrix A(&grid.pattern());
  for (const int start : std::span(grid.pattern().column_starts).first(grid.pattern().num_nodes))
    for (int r = 0; r < 3; ++r) A.values[9 * std::size_t(start) + 4 * r] = mass;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int cell = 0; cell < num_cells; ++cell) {
    Eigen::MatrixXd B(3 * kNodes, 6);
    for (double& entry : B.reshaped()) entry = uniform(random);
    const Eigen::MatrixXd K = B * B.transpose();
    visit(cell, K);
    std::array<int, GridPattern::kCellBlocks> blocks;
    grid.FindBlocks(cell, blocks);
    const int* block = blocks.data();
    for (int b = 0; b < kNodes; ++b) {
      for (int a = b; a < kNodes; ++a) {
        Eigen::Map<Eigen::Matrix3d>(&A.values[9 * std::size_t(*block++)]) +=
            K.block<3, 3>(3 * a, 3 * b);
      }
    }
  }
  return A;
}

inline BlockMatrix MakeRandomGridMatrix(const GridPattern& grid, int num_cells, double mass,
                                        unsigned seed) {
  return MakeRandomGridMatrix(grid, num_cells, mass, seed, [](int, const Eigen::MatrixXd&) {});
}

}  // namespace pliant::solvers
