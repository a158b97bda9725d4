#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/panel.h"
#include "solvers/linalg/supernodes.h"

namespace pliant::solvers {

// A Schur complement with no more blocks than it has: those of A between participants, and a clique
// for every part that is eliminated. Its nodes are the participants in their order. Its sums are
// found in the panels of its own factor, where they are needed next, and recorded from there. Keeps
// its memory.
class SparseComplement {
 public:
  SparseComplement() : matrix_(&pattern_) {}
  SparseComplement(const SparseComplement&) = delete;
  SparseComplement& operator=(const SparseComplement&) = delete;

  // Of the participants that `layout` of the pattern of A has.
  void LayOut(const BlockPattern& A, const SupernodeLayout& layout);
  // Then in the panels of `factor`, which is laid out for the pattern here. `layout` has the
  // participants placed in the order in which that eliminates them. Both stay as they are while
  // something is recorded.
  void Place(const SupernodeLayout& layout, const SupernodeLayout& factor);

  // Of all blocks, those that are there.
  double CalcFill() const;

  // A clique that is all the rest of a panel: its update matrix is to be found there, rather than
  // be added.
  struct Home {
    int clique = -1;         // none
    std::size_t offset = 0;  // of its corner among the panels
    int leading = 0;         // numbers a column
  };
  const Home& home() const { return home_; }

  // Sets a strip of the factor's panels to its part of the complement, and records that. `updates`:
  // what each eliminated part hands up, as the layout numbers its cliques. Different strips may be
  // worked on at the same time.
  int num_strips() const { return static_cast<int>(strips_.size()) - 1; }
  int first_strip(int panel) const { return first_strip_[panel]; }  // up to that of the next panel
  void Assemble(int strip, const BlockMatrix& A, std::span<const UpdateMatrix> updates,
                double* panels);

  const BlockPattern& pattern() const { return pattern_; }
  const BlockMatrix& matrix() const { return matrix_; }
  // In which its nodes fill in least: as in A where nothing is eliminated after a participant that
  // it is coupled with, else those that the eliminated parts couple come last.
  const std::vector<int>& order() const { return order_; }

 private:
  // Columns of a panel, as many as stay in the cache while their numbers are put together.
  struct Strip {
    int panel, begin, end;
    bool is_home;
    int first_block, first_source, first_piece;  // up to those of the next strip
  };
  // What of a clique's update matrix belongs to a strip: columns [begin, end), rows from there on.
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
  std::vector<int> source_;  // of each block in A, −1: none
  std::vector<int> index_;   // of a node of A among the participants, −1: none
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
