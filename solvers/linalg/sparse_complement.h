#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// A Schur complement with no more blocks than it has: those of A between participants, and a clique for every part that is
// eliminated. Its nodes are the participants in their order. Keeps its memory.
class SparseComplement {
 public:
  SparseComplement() : matrix_(&pattern_) {}
  SparseComplement(const SparseComplement&) = delete;
  SparseComplement& operator=(const SparseComplement&) = delete;

  // Of the participants that `layout` of the pattern of A has.
  void LayOut(const BlockPattern& A, const SupernodeLayout& layout);

  // Of all blocks, those that are there.
  double CalcFill() const;

  // Recording: the blocks of A, then what each supernode below the participants hands up, then the rest.
  void Start(const BlockMatrix& A);
  // An update matrix has room for kBeyond more numbers, whatever they are.
  static constexpr int kBeyond = 1;
  void Add(const SupernodeLayout& layout, const SupernodeLayout::Supernode& child,
           const double* update);
  void Finish();

  const BlockPattern& pattern() const { return pattern_; }
  const BlockMatrix& matrix() const { return matrix_; }
  // In which its nodes fill in least: as in A where nothing is eliminated after a participant that it is coupled with, else
  // those that the eliminated parts couple come last.
  const std::vector<int>& order() const { return order_; }

 private:
  void FindPattern(const BlockPattern& A, const SupernodeLayout& layout);
  void FindOrder(const SupernodeLayout& layout);

  BlockPattern pattern_;
  BlockMatrix matrix_;
  std::vector<int> order_;
  struct Copy {
    int from, to;  // blocks
  };
  std::vector<Copy> copies_;  // of A
  std::vector<int> index_;    // of a node of A among the participants, −1: none
  std::vector<std::uint64_t> bits_, clique_;
};

}  // namespace pliant::solvers
