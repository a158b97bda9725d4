#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/grid/grid_pattern.h"

namespace pliant::solvers {

// Fill-reducing elimination order for grids whose nodes couple at most two steps apart along each
// axis, the best of three:
// - nested dissection by planes, two layers of nodes thick, and minimum degree in what remains, for
//   compact bodies;
// - layer by layer along one axis, from both ends to the middle, for slabs and bars;
// - minimum degree everywhere, where nodes are scattered.
// It depends only on differences of coordinates and on the pattern, and takes O(n log n) time
// unless nodes are scattered. Reuses its memory.
class GridDissection {
 public:
  // `nodes`: coordinates in the order of the pattern. order[k] is the node eliminated k-th; valid
  // until the next call. Operations are counted up to `limit` only.
  std::span<const int> FindOrder(std::span<const GridPoint> nodes, const BlockPattern& pattern,
                                 double limit = std::numeric_limits<double>::infinity());
  // Additions and multiplications of a factorisation in this order; beyond the limit, some number
  // above it.
  double operations() const { return operations_; }

 private:
  // The separator has the coordinates [begin, end) along an axis.
  struct Separator {
    int axis;
    std::int64_t begin, end;
  };

  // Layers along an axis: the lowest coordinate of the first one, and how thick they are.
  struct Layers {
    std::int64_t first, width;
  };

  void Dissect(int begin, int end);
  double FindSweep();
  void Consider();
  Layers CountLayers(std::span<const int> part, int axis);
  Separator FindSeparator(std::span<const int> part);
  void OrderByDegree(std::span<int> part);
  template <typename Visit>
  void VisitNeighbours(int node, const Visit& visit) const;

  std::span<const GridPoint> nodes_;
  const BlockPattern* pattern_ = nullptr;
  std::vector<int> order_, other_order_;
  double operations_ = 0;
  OperationCounter counter_;
  std::vector<int> others_;       // nodes of a part in and beyond its separator
  std::vector<int> layer_sizes_;  // nodes in each
  // numbers of the nodes and neighbours of the part that is ordered by degree
  std::vector<int> number_of_, numbered_;
  std::vector<std::uint64_t> bits_;  // a row for each of its nodes: the neighbours and itself
  std::vector<int> degrees_, remaining_;
};

}  // namespace pliant::solvers
