#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "physics/mpm/kernel.h"
#include "solvers/linalg/grid/grid_pattern.h"

namespace pliant::physics {

// Points sorted by the cells of an unbounded grid, and the nodes that their kernels reach. Build
// reuses its memory.
class ActiveGrid {
 public:
  // A cell that contains points. Its nodes are ascending, in the order of Kernel.
  struct Cell {
    GridIndex index;
    int first = 0, count = 0;  // in points()
    std::array<int, kKernelNodes> nodes;
  };

  // `positions`: 3 numbers per point [m]. `is_active`: whether a point activates its nodes; other
  // points are left out. INTERNAL when a point is out of the grid's range or there are more than
  // `max_nodes` nodes.
  absl::Status Build(std::span<const double> positions, std::span<const char> is_active,
                     double cell_size, int max_nodes);

  // Nodes, and the sparsity pattern of a matrix that couples those of each cell.
  const solvers::GridPattern& pattern() const { return pattern_; }
  int num_nodes() const { return static_cast<int>(pattern_.nodes().size()); }
  // Ascending by index, the first coordinate leading.
  std::span<const Cell> cells() const { return cells_; }
  // Active points, ordered by cell and within a cell by index.
  std::span<const int> points() const { return points_; }
  // Whether the last Build found the same cells, and so the same nodes, as the one before.
  bool is_unchanged() const { return is_unchanged_; }

 private:
  struct Placed {
    std::uint64_t key;  // coordinates of the cell, packed so that keys sort like them
    int point;
    bool operator<(const Placed& other) const {
      return key != other.key ? key < other.key : point < other.point;
    }
  };
  std::vector<Placed> placed_;
  std::vector<int> points_;
  std::vector<Cell> cells_;
  std::vector<GridIndex> cell_indices_;
  solvers::GridPattern pattern_;
  bool is_unchanged_ = false;
};

}  // namespace pliant::physics
