#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace pliant::solvers {

// Cholesky factor of a symmetric matrix with few, dense blocks of different sizes (one block per
// body, coupled where bodies touch). Blocks are ordered by minimum degree; those of one clique are
// eliminated together as one dense panel. The analysis depends on its arguments alone; repeating
// one is free. Keeps its memory.
class BlockCholesky {
 public:
  // Storage of a block: column-major, with column stride `stride`. Up to kBeyond numbers after a
  // column may be overwritten with their own values.
  static constexpr int kBeyond = 3;
  struct Place {
    double* values;
    int stride;
  };

  // `couplings` are pairs of different blocks, in any order; repetitions are allowed.
  void Analyze(std::span<const int> sizes, std::span<const std::pair<int, int>> couplings);

  // Whether block (i, j) of the matrix is stored, rather than (j, i): those in the lower triangle
  // of the elimination order. Diagonal blocks are stored; only their lower triangle is read.
  bool IsKept(int i, int j) const { return position_[i] >= position_[j]; }
  // Storage of a kept block, i and j coupled. Valid until the next Analyze.
  Place Find(int i, int j);

  // The factor is eliminated by panels. panel_of(j) is the one that stores the kept blocks (i, j).
  int num_panels() const { return static_cast<int>(nodes_.size()); }
  int panel_of(int block) const { return node_of_[block]; }

  // The fraction of the work that is sequential for any number of threads.
  double path_share() const { return path_share_; }

  // Calls f(i, j) for every kept block in a panel.
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

  // Factors the matrix and sets x ← A⁻¹ x. `fill` sets every kept block of a panel, shortly before
  // it is needed, so that a large matrix passes through the cache once. It may be called for
  // several panels in parallel. False when the matrix is not positive definite.
  //
  // For a large matrix, branches of the elimination tree run in parallel. Sums shared by branches
  // have a fixed order: the bits are those of sequential elimination.
  bool FactorAndSolve(const std::function<void(int panel)>& fill, std::span<double> x);
  // x ← A⁻¹ x with the last factor.
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
    int branch;            // −1: above several branches
    bool leaves_branch;    // whether it updates panels of others

    int below() const { return rows - columns; }
  };

  // Ordering rule. Minimum degree gives little fill. Large matrices whose tree is nearly one long
  // path are ordered for short paths instead, so that threads can share the work.
  enum class Rule { kMinDegree, kShortPaths };
  struct Work {
    double all, path;  // along the longest path up the tree
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
  // Panels of branch k, ascending.
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
  // Adds a panel's update to those of its target panels that are in its branch, or to the others.
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
  std::vector<int> meeting_;  // panels above several branches
  std::vector<double> work_;  // of each supernode and all that leads to it
  std::vector<int> heavy_, stretch_end_;
};

}  // namespace pliant::solvers
