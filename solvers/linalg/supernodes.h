#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "solvers/linalg/block_matrix.h"
#include "solvers/linalg/branches.h"
#include "solvers/linalg/elimination_order.h"

namespace pliant::solvers {

// For each of the ascending places, finds the end of its run of consecutive places.
void FindRuns(std::span<const int> places, std::span<int> run_end);

// Additions and multiplications of a factorisation without participants, as SupernodeLayout::flops,
// but in much less memory. `tree` is that of `order`.
double CountFactorOperations(const std::vector<int>& order, const EliminationTree& tree);

// Layout of a supernodal multifrontal factor: everything that depends only on the pattern, an
// elimination order and the participants, which are eliminated last. Columns are nodes; "position"
// is a node's place in the final order.
class SupernodeLayout {
 public:
  // Columns that are eliminated together, as one panel of (columns + rows) × columns nodes.
  struct Supernode {
    int first;  // position of its first column
    int columns;
    int first_row, num_rows;  // positions below its columns
    int first_child, num_children;
    int first_block, num_blocks;  // blocks of A that are added to its panel
    int in_panel;                 // rows that are columns of the parent
    std::size_t panel;            // offset of its trapezoid, in numbers
    std::size_t update;           // offset of its rows × rows update matrix
    // the same offset in a branch's work space when branches run in parallel; unused if the update
    // matrix is kept for a parent outside
    std::size_t branch_update;
    bool is_kept;

    int height() const { return 3 * (columns + num_rows); }
    int width() const { return 3 * columns; }
    int update_size() const { return 3 * num_rows; }
    std::size_t update_numbers() const { return std::size_t(update_size()) * update_size(); }
  };
  // A block of A and its place among the panels, as it is or transposed.
  struct Block {
    int block;
    bool transposed;
    std::size_t offset;
  };

  SupernodeLayout() = default;
  SupernodeLayout(const BlockPattern& pattern, std::span<const int> order) {
    SetPattern(pattern, order);
  }

  // Starts over for a pattern. `order[k]` is the node eliminated k-th when there are no
  // participants. Keeps its memory.
  void SetPattern(const BlockPattern& pattern, std::span<const int> order);

  // Finds the supernodes and their order for these participants (ascending node numbers). Keeps its
  // memory. `below`: a layout whose participants are the nodes here and whose cliques are added to
  // the panels too.
  void LayOut(std::span<const int> participants, const SupernodeLayout* below = nullptr);
  // Then computes all offsets, with the participants eliminated in this order (of indices among
  // them), which need not be ascending. Their own matrix is dense, or not part of this layout.
  void Place(std::span<const int> order_of_participants, bool is_root_dense);

  const std::vector<int>& participants() const { return participants_; }
  // Cliques: the participants coupled by each eliminated part that only participants depend on, as
  // ascending indices among them. Part k is the root's k-th child.
  int num_cliques() const { return static_cast<int>(tops_.size()); }
  std::span<const int> clique(int k) const {
    return std::span(cliques_).subspan(clique_starts_[k],
                                       clique_starts_[k + 1] - clique_starts_[k]);
  }
  // Whether the given order eliminates each of these parts before all participants that it couples.
  bool ends_before_participants() const;
  // Supernodes in postorder. The root, after the last one, is the participants' own; it has no rows
  // and no parent.
  std::span<const Supernode> supernodes() const {
    return std::span(supernodes_).first(supernodes_.size() - 1);
  }
  const Supernode& root() const { return supernodes_.back(); }
  // For each row: its position; its place among the parent's columns, then rows; the end of its run
  // of consecutive places.
  std::span<const int> rows(const Supernode& node) const { return Part(rows_, node); }
  std::span<const int> relative(const Supernode& node) const { return Part(relative_, node); }
  std::span<const int> run_end(const Supernode& node) const { return Part(run_end_, node); }
  std::span<const int> children(const Supernode& node) const {
    return std::span(children_).subspan(node.first_child, node.num_children);
  }
  std::span<const Block> blocks(const Supernode& node) const {
    return std::span(blocks_).subspan(node.first_block, node.num_blocks);
  }
  int node(int position) const { return node_[position]; }
  int position(int node) const { return position_[node]; }
  int rank(int node) const { return rank_[node]; }       // in the order given
  std::size_t num_rows() const { return rows_.size(); }  // of all supernodes
  int num_nodes() const { return static_cast<int>(node_.size()); }
  std::size_t panel_numbers() const { return panel_numbers_; }
  std::size_t update_numbers() const { return update_numbers_; }
  // Supernodes that may be processed in parallel, and the work space of each branch.
  const Branches& branches() const { return branches_; }
  std::size_t branch_numbers() const { return branch_numbers_; }
  double flops() const { return flops_; }  // additions and multiplications

 private:
  struct Neighbour {
    int node, block;
  };
  // First-fit allocator for temporary update matrices.
  class Arena {
   public:
    void Clear() { holes_.clear(), size_ = 0; }
    std::size_t Take(std::size_t size);
    void Give(std::size_t offset, std::size_t size);
    std::size_t size() const { return size_; }

   private:
    struct Hole {
      std::size_t offset, size;
    };
    std::vector<Hole> holes_;  // ascending
    std::size_t size_ = 0;
  };

  static std::span<const int> Part(const std::vector<int>& all, const Supernode& node) {
    return std::span(all).subspan(node.first_row, node.num_rows);
  }
  int num_columns() const { return num_nodes() - static_cast<int>(participants_.size()); }
  std::span<const int> structure(int column) const {
    return std::span(structure_)
        .subspan(structure_starts_[column],
                 structure_starts_[column + 1] - structure_starts_[column]);
  }
  void FindStructures();
  void OrderGroups(const SupernodeLayout* below);
  void OrderColumns(const SupernodeLayout* below);
  void SplitBy(std::span<const int> columns);
  void SplitParts(int group);
  // Positions of a group's columns, once group_start_ is known.
  int FirstOf(int group) const { return EndOf(group) - group_size_[group]; }
  int EndOf(int group) const { return group_start_[group]; }
  void FindCliques();
  void PlaceSupernodes();
  void PlaceRows();
  void PlaceBlocks(Supernode* node);
  void PlaceRoot();
  void PlaceUpdates();
  void FindBranches();
  void PlaceBranchUpdates();

  std::vector<int> order_, rank_;
  std::vector<int> neighbour_starts_;
  std::vector<Neighbour> neighbours_;  // of each node, itself included

  std::vector<int> participants_;
  std::vector<int> tops_;  // last column of each group below the participants
  std::vector<int> cliques_, clique_starts_;
  std::vector<Supernode> supernodes_;
  std::vector<int> rows_, relative_, run_end_, children_;
  std::vector<Block> blocks_;
  std::vector<int> node_, position_;  // node at each position, position of each node
  std::size_t panel_numbers_ = 0, update_numbers_ = 0, branch_numbers_ = 0;
  double flops_ = 0;
  Arena arena_;
  Branches branches_;
  std::vector<int> parents_;  // supernodes, −1: the participants
  std::vector<double> work_;

  // columns before they are grouped, in elimination order, participants last
  std::vector<int> column_node_, column_of_;
  std::vector<int> structure_starts_, structure_;  // rows below the diagonal, ascending
  std::vector<int> parent_;                        // num_columns() for the participants
  std::vector<int> first_child_, next_child_;
  std::vector<std::uint64_t> bits_;  // one row per active column
  std::vector<int> bit_row_, free_rows_;
  std::vector<int> bit_end_;  // end of the words that a column uses
  // groups of columns by their last column
  std::vector<int> group_, group_size_, group_start_, postorder_, supernode_of_;
  std::vector<double> group_cost_;
  // parts of groups, split by the supernodes with rows in them; for the active rows, those in a
  // group
  std::vector<int> part_end_, first_of_size_, next_of_size_, cliques_by_size_, clique_columns_;
  std::vector<int> groups_above_, first_row_in_, next_row_, others_;
  std::vector<char> is_split_off_;
  std::vector<int> place_;  // of positions, in one supernode
};

}  // namespace pliant::solvers
