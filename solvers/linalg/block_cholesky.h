#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace pliant::solvers {

// Cholesky factor of a symmetric matrix of few, dense, differently sized blocks (a block a body, a
// pair of them coupled where they touch): minimum-degree order of the blocks, those of one clique
// eliminated together as one dense panel. What an analysis finds depends on its arguments alone; a
// repeated one is free. Keeps its memory.
class BlockCholesky {
 public:
  // Where a block's entries go: column-major, `stride` numbers from column to column. As many as
  // kBeyond numbers after a column may be written too, with what they hold already.
  static constexpr int kBeyond = 3;
  struct Place {
    double* values;
    int stride;
  };

  // `couplings` are pairs of different blocks, in any order, repeated or not.
  void Analyze(std::span<const int> sizes, std::span<const std::pair<int, int>> couplings);

  // Whether block (i, j) of the matrix is kept, rather than (j, i): in the lower triangle of the
  // order found. Diagonal ones are, of which only the lower triangle is read.
  bool IsKept(int i, int j) const { return position_[i] >= position_[j]; }
  // Of a kept block of coupled i and j; valid until the next Analyze.
  Place Find(int i, int j);

  // The factor's columns are eliminated by panels: that which holds the kept blocks (i, j) of a j.
  int num_panels() const { return static_cast<int>(nodes_.size()); }
  int panel_of(int block) const { return node_of_[block]; }

  // The part of the work that has to be done one after another, however many threads there are.
  double path_share() const { return path_share_; }

  // f(i, j) of every kept block in a panel.
  template <typename F>
  void ForEachKept(int panel, const F& f) const {
    const Supernode& node = nodes_[panel];
    const int end = node.first_block + node.num_blocks;
    for (int b = node.first_block; b < end; ++b) {
      for (int a = b; a < end; ++a) f(order_[a], order_[b]);
      for (const int i : Below(node)) f(i, order_[b]);
    }
  }
  void Clear(int panel);  // to zero

  // Factors the matrix and x ← A⁻¹ x. `fill` sets every kept block of a panel, shortly before it is
  // needed: a large matrix passes through the cache once. It may be called for several panels at
  // the same time. False when the matrix is not positive definite.
  //
  // Of a large matrix branches of the elimination tree are worked on at the same time. Whatever
  // branches have in common is summed up in one order: the bits are those of one panel after
  // another.
  bool FactorAndSolve(const std::function<void(int panel)>& fill, std::span<double> x);
  // x ← A⁻¹ x with the factor there is.
  void Solve(std::span<double> x);

 private:
  // Columns eliminated together: a panel whose first rows are its own, then those of the blocks
  // below.
  struct Supernode {
    int first_block, num_blocks;  // in order_
    int first_below, num_below;   // in below_
    int column;                   // first of its columns, as permuted
    int columns, rows;
    std::size_t panel;     // in values_
    std::size_t target;    // in targets_
    std::size_t update;    // in updates_
    std::size_t gathered;  // in gathered_
    int branch;            // −1: what branches meet in
    bool leaves_branch;    // whether it updates such

    int below() const { return rows - columns; }
  };

  // By which rule blocks are ordered. Least degree makes for little fill; for large matrices whose
  // tree is all one path short paths replace it, which threads can share.
  enum class Rule { kMinDegree, kShortPaths };
  struct Work {
    double all, path;  // of the longest path up the tree
  };

  void FindOrder(Rule rule);
  int FindNext(Rule rule) const;
  bool IsSimplicial(int block) const;
  Work CountWork();
  double Lengthen(const Supernode& node, double* all);
  std::span<const int> Below(const Supernode& node) const {
    return std::span(below_).subspan(node.first_below, node.num_below);
  }
  void LayOut();
  int RowOf(const Supernode& node, int block) const;
  static double CountWork(const Supernode& node) {
    return static_cast<double>(node.columns) * node.rows * node.rows;
  }
  void FindBranches();
  int num_branches() const { return static_cast<int>(branch_starts_.size()) - 1; }
  // Its panels, ascending.
  std::span<const int> branch(int k) const {
    return std::span(branch_nodes_)
        .subspan(branch_starts_[k], branch_starts_[k + 1] - branch_starts_[k]);
  }
  template <typename F>
  void ForBelow(const Supernode& node, const F& f);
  void Permute(std::span<const double> x);
  void SolveForward(const Supernode& node);
  void SolveBackward(std::span<double> x);
  void SolveBackward(const Supernode& node);
  template <typename Need>
  bool Eliminate(const Supernode& node, const Need& need);
  // Adds a panel's update to those panels below that are in its branch, or not in it.
  template <typename Need>
  void AddUpdate(const Supernode& node, bool in_branch, const Need& need);

  std::vector<int> sizes_, starts_;  // of the blocks; starts_ in x
  std::vector<std::pair<int, int>> given_, couplings_;
  std::vector<std::vector<int>> neighbours_;  // of blocks not yet eliminated
  std::vector<int> degree_;                   // Σ of the neighbours' sizes
  std::vector<int> clique_, merged_;
  std::vector<double> path_;  // work that a block waits for
  std::vector<char> is_simplicial_;
  double path_share_ = 1;
  std::vector<Supernode> nodes_;
  std::vector<int> order_, position_;       // block at a position, position of a block
  std::vector<int> below_;                  // blocks, by position
  std::vector<int> node_of_, row_in_node_;  // supernode of a block, its first row there
  std::vector<std::size_t>
      targets_;  // of blocks (i, j) of each supernode's update, i ≥ j, by columns: place in values_
  std::vector<double> values_, updates_, permuted_, gathered_;
  std::vector<char> is_filled_;  // of panels
  std::vector<int> branch_starts_, branch_nodes_;
  std::vector<int> meeting_;  // panels that branches meet in
  std::vector<double> work_;  // of each supernode and all that leads to it
  std::vector<int> heavy_, stretch_end_;
};

}  // namespace pliant::solvers
