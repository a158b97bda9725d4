#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/grid/grid_pattern.h"

namespace pliant::solvers {

// Fill-reducing elimination order for grids whose nodes couple at most two steps apart along each
// axis: nested dissection by planes, two layers of nodes thick, and minimum degree in what remains.
// It depends only on differences of coordinates and on the pattern, and takes O(n log n) time.
// Reuses its memory.
class GridDissection {
 public:
  // `nodes`: coordinates in the order of the pattern. order[k] is the node eliminated k-th; valid
  // until the next call.
  std::span<const int> FindOrder(std::span<const GridPoint> nodes, const BlockPattern& pattern);

 private:
  // The separator has the coordinates [begin, end) along an axis.
  struct Separator {
    int axis;
    std::int64_t begin, end;
  };

  void FindEarlierNeighbours();
  void Dissect(int begin, int end);
  Separator FindSeparator(std::span<const int> part);
  void OrderByDegree(std::span<int> part);
  template <typename Visit>
  void VisitNeighbours(int node, const Visit& visit) const;

  std::span<const GridPoint> nodes_;
  const BlockPattern* pattern_ = nullptr;
  std::vector<int> order_;
  // neighbours with lower numbers of all nodes; the pattern has those with higher numbers
  std::vector<int> earlier_starts_, earlier_;
  std::vector<int> others_;       // nodes of a part in and beyond its separator
  std::vector<int> layer_sizes_;  // nodes by coordinate
  // numbers of the nodes and neighbours of the part that is ordered by degree
  std::vector<int> number_of_, numbered_;
  std::vector<std::uint64_t> bits_;  // a row for each of its nodes: the neighbours and itself
  std::vector<int> degrees_, remaining_;
};

}  // namespace pliant::solvers
