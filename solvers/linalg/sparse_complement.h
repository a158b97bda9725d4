#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/panel.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// A block-sparse Schur complement: the blocks of A between participants, and a clique for every
// eliminated part. Its nodes are the participants in their order. Its blocks are summed in the
// panels of its own factor, where they are needed next, and recorded from there. Keeps its memory.
class SparseComplement {
 public:
  SparseComplement() : matrix_(&pattern_) {}
  SparseComplement(const SparseComplement&) = delete;
  SparseComplement& operator=(const SparseComplement&) = delete;

  // Finds the pattern and order for the participants of `layout`, which is for the pattern of A.
  void LayOut(const BlockPattern& A, const SupernodeLayout& layout);
  // Then places the blocks in the panels of `factor`, the layout for pattern(). `layout` has the
  // participants placed in the elimination order of `factor`. Both must stay unchanged while
  // something is recorded.
  void Place(const SupernodeLayout& layout, const SupernodeLayout& factor);

  // Fraction of all blocks that exist.
  double CalcFill() const;

  // A clique that covers the whole remainder of a panel: its update matrix is written there
  // directly instead of being added.
  struct Home {
    int clique = -1;         // none
    std::size_t offset = 0;  // of its corner among the panels
    int leading = 0;         // numbers a column
  };
  const Home& home() const { return home_; }

  // Sets a strip of the factor's panels to its part of the complement, and records it. `updates`:
  // the update matrix of each eliminated part, in the order of the layout's cliques. May be called
  // for different strips in parallel.
  int num_strips() const { return static_cast<int>(strips_.size()) - 1; }
  int first_strip(int panel) const { return first_strip_[panel]; }  // up to that of panel + 1
  void Assemble(int strip, const BlockMatrix& A, std::span<const UpdateMatrix> updates,
                double* panels);

  const BlockPattern& pattern() const { return pattern_; }
  const BlockMatrix& matrix() const { return matrix_; }
  // Fill-reducing order of its nodes: the order of A if nothing is eliminated after a participant
  // that it is coupled with; otherwise nodes coupled by the eliminated parts come last.
  const std::vector<int>& order() const { return order_; }

 private:
  // Columns of a panel, few enough to stay in the cache while they are assembled.
  struct Strip {
    int panel, begin, end;
    bool is_home;
    int first_block, first_source, first_piece;  // up to those of the next strip
  };
  // The part of a clique's update matrix that belongs to a strip: columns [begin, end), rows from
  // `begin` on.
  struct Piece {
    int strip, clique;
    int begin, end, num_rows;  // nodes; of the clique
    int first_row;             // in places_
  };

  void FindPositions(std::span<const int> clique);
  void FindPattern(const BlockPattern& A, const SupernodeLayout& layout);
  void FindOrder(const SupernodeLayout& layout);
  void FindHome(const SupernodeLayout& layout);
  void CutStrips();
  void PlaceCliques(const SupernodeLayout& layout);
  void AddPiece(int strip, int clique, int begin, int end);

  BlockPattern pattern_;
  BlockMatrix matrix_;
  std::vector<int> order_;
  std::vector<char> is_last_;  // of its nodes, in order_
  std::vector<int> source_;    // of each block in A, −1: none
  std::vector<int> index_;     // of a node of A among the participants, −1: none
  std::vector<std::uint64_t> bits_, clique_;

  const SupernodeLayout* factor_ = nullptr;
  Home home_;
  int home_begin_ = 0;  // first position of its clique
  std::vector<int> first_strip_;
  std::vector<Strip> strips_;                             // and an end
  std::vector<SupernodeLayout::Block> blocks_, sources_;  // of the complement and of A, by strips
  std::vector<Piece> pieces_;                             // by strips
  std::vector<int> places_, run_end_;
  std::vector<int> positions_;  // of a clique in the factor, ascending
  std::vector<int> strip_of_;   // of a position in the factor
};

}  // namespace pliant::solvers
