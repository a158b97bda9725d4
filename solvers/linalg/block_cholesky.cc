#include "solvers/linalg/block_cholesky.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "solvers/linalg/dense.h"
#include "solvers/linalg/parallel.h"

namespace pliant::solvers {
namespace {

// Multiply-adds below which threads do not pay off; the fraction of all work up to which a subtree
// is one branch; and the fraction that may run on one thread so that a subtree can divide.
constexpr double kMaxSerialWork = 3e6, kMaxBranchShare = 1.0 / 16, kMaxSerialShare = 1.0 / 16;

// Fraction of all work on one path above which threads would wait.
constexpr double kMaxPathShare = 0.6;

// Neighbours up to which a block is checked for whether they are all coupled.
constexpr std::size_t kMaxCheckedNeighbours = 4;

// Degree of an eliminated block.
constexpr int kEliminated = std::numeric_limits<int>::max();

}  // namespace

void BlockCholesky::Analyze(std::span<const int> sizes,
                            std::span<const std::pair<int, int>> couplings) {
  const bool is_known = std::ranges::equal(sizes, sizes_) && std::ranges::equal(couplings, given_);
  if (is_known) return;
  sizes_.assign(sizes.begin(), sizes.end());
  given_.assign(couplings.begin(), couplings.end());
  couplings_.clear();
  for (const auto& [i, j] : couplings) {
    couplings_.emplace_back(i, j);
    couplings_.emplace_back(j, i);
  }
  std::sort(couplings_.begin(), couplings_.end());
  couplings_.erase(std::unique(couplings_.begin(), couplings_.end()), couplings_.end());
  starts_.resize(sizes_.size());
  int start = 0;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    starts_[i] = start;
    start += sizes_[i];
  }
  FindOrder(Rule::kMinDegree);
  Work work = CountWork();
  if (work.all >= kMaxSerialWork && work.path > kMaxPathShare * work.all) {
    FindOrder(Rule::kShortPaths);
    work = CountWork();
  }
  path_share_ = work.all > 0 ? work.path / work.all : 1;
  LayOut();
}

// Work of all supernodes, and on the longest path.
BlockCholesky::Work BlockCholesky::CountWork() {
  Work work{0, 0};
  path_.assign(sizes_.size(), 0.0);
  for (const Supernode& node : nodes_) {
    const double path = Lengthen(node, &work.all);
    work.path = std::max(work.path, path);
  }
  return work;
}

// Extends the longest path through a supernode to the blocks below it, and returns its length. Adds
// the supernode's own work to `all`.
double BlockCholesky::Lengthen(const Supernode& node, double* all) {
  double columns = 0, path = 0;
  for (int k = node.first_block; k < node.first_block + node.num_blocks; ++k) {
    columns += sizes_[order_[k]];
    path = std::max(path, path_[order_[k]]);
  }
  double rows = columns;
  for (const int i : Below(node)) rows += sizes_[i];
  *all += columns * rows * rows;
  path += columns * rows * rows;
  for (const int i : Below(node)) path_[i] = std::max(path_[i], path);
  return path;
}

// Whether all neighbours of a block are coupled with each other, so that eliminating it causes no
// fill. Not checked for many neighbours.
bool BlockCholesky::IsSimplicial(int block) const {
  const std::vector<int>& all = neighbours_[block];
  if (all.size() > kMaxCheckedNeighbours) return false;
  for (const int i : all) {
    for (const int j : all)
      if (j < i && !std::ranges::binary_search(neighbours_[i], j)) return false;
  }
  return true;
}

// Next block to eliminate. By default it is the one of minimum degree. With kShortPaths, it is the
// one at the end of the shortest path among those that cause no fill, if any, so that a chain is
// eliminated from both ends.
int BlockCholesky::FindNext(Rule rule) const {
  const auto least = std::min_element(degree_.begin(), degree_.end());
  if (rule == Rule::kMinDegree) return static_cast<int>(least - degree_.begin());
  int next = -1;
  double shortest = 0;
  for (int i = 0; i < static_cast<int>(degree_.size()); ++i) {
    if (degree_[i] == kEliminated || !is_simplicial_[i]) continue;
    const double rows = sizes_[i] + degree_[i], path = path_[i] + sizes_[i] * rows * rows;
    if (next >= 0 && path >= shortest) continue;
    next = i;
    shortest = path;
  }
  return next >= 0 ? next : static_cast<int>(least - degree_.begin());
}

void BlockCholesky::FindOrder(Rule rule) {
  const int n = static_cast<int>(sizes_.size());
  if (static_cast<int>(neighbours_.size()) < n) neighbours_.resize(n);
  for (int i = 0; i < n; ++i) neighbours_[i].clear();
  degree_.assign(n, 0);
  for (const auto& [i, j] : couplings_) {
    neighbours_[i].push_back(j);
    degree_[i] += sizes_[j];
  }
  nodes_.clear();
  order_.clear();
  below_.clear();
  path_.assign(n, 0.0);
  is_simplicial_.assign(n, 0);
  if (rule == Rule::kShortPaths) {
    for (int i = 0; i < n; ++i) is_simplicial_[i] = IsSimplicial(i);
  }
  while (static_cast<int>(order_.size()) < n) {
    const int least = FindNext(rule);

    // its neighbours become a clique; those with no other neighbours are eliminated with it
    clique_.assign(neighbours_[least].begin(), neighbours_[least].end());
    Supernode node{};
    node.first_block = static_cast<int>(order_.size());
    node.first_below = static_cast<int>(below_.size());
    order_.push_back(least);
    degree_[least] = kEliminated;
    for (const int i : clique_) {
      merged_.clear();
      std::set_union(neighbours_[i].begin(), neighbours_[i].end(), clique_.begin(), clique_.end(),
                     std::back_inserter(merged_));
      std::erase_if(merged_, [&](int j) { return j == i || j == least; });
      neighbours_[i].swap(merged_);
    }
    for (const int i : clique_) {
      if (neighbours_[i].size() + 1 == clique_.size()) {
        order_.push_back(i);
        degree_[i] = kEliminated;
      } else {
        below_.push_back(i);
      }
    }
    node.num_blocks = static_cast<int>(order_.size()) - node.first_block;
    node.num_below = static_cast<int>(below_.size()) - node.first_below;
    for (int k = node.first_below; k < node.first_below + node.num_below; ++k) {
      const int i = below_[k];
      if (node.num_blocks > 1)
        std::erase_if(neighbours_[i], [&](int j) { return degree_[j] == kEliminated; });
      degree_[i] = 0;
      for (const int j : neighbours_[i]) degree_[i] += sizes_[j];
    }
    if (rule == Rule::kShortPaths) {
      double unused = 0;
      Lengthen(node, &unused);
      for (const int i : Below(node)) is_simplicial_[i] = is_simplicial_[i] || IsSimplicial(i);
    }
    nodes_.push_back(node);
  }
  position_.resize(n);
  for (int k = 0; k < n; ++k) position_[order_[k]] = k;
}

int BlockCholesky::RowOf(const Supernode& node, int block) const {
  if (node_of_[block] == static_cast<int>(&node - nodes_.data())) return row_in_node_[block];
  int row = node.columns;
  for (int k = node.first_below; below_[k] != block; ++k) row += sizes_[below_[k]];
  return row;
}

void BlockCholesky::LayOut() {
  node_of_.resize(sizes_.size());
  row_in_node_.resize(sizes_.size());
  std::size_t size = 0;
  int column = 0;
  for (std::size_t s = 0; s < nodes_.size(); ++s) {
    Supernode& node = nodes_[s];
    node.column = column;
    node.columns = 0;
    for (int k = node.first_block; k < node.first_block + node.num_blocks; ++k) {
      node_of_[order_[k]] = static_cast<int>(s);
      row_in_node_[order_[k]] = node.columns;
      node.columns += sizes_[order_[k]];
    }
    const auto begin = below_.begin() + node.first_below;
    std::sort(begin, begin + node.num_below,
              [this](int i, int j) { return position_[i] < position_[j]; });
    node.rows = node.columns;
    for (int k = node.first_below; k < node.first_below + node.num_below; ++k)
      node.rows += sizes_[below_[k]];
    node.panel = size;
    // writes beyond the last column must not reach the next panel
    size += std::size_t(node.rows) * node.columns + kBeyond;
    column += node.columns;
  }
  values_.resize(size);
  permuted_.resize(column);
  FindBranches();

  // where the update of each panel goes
  targets_.clear();
  for (Supernode& node : nodes_) {
    node.target = targets_.size();
    for (int b = node.first_below; b < node.first_below + node.num_below; ++b) {
      const int j = below_[b];
      const Supernode& owner = nodes_[node_of_[j]];
      const std::size_t corner = owner.panel + std::size_t(row_in_node_[j]) * owner.rows;
      for (int a = b; a < node.first_below + node.num_below; ++a)
        targets_.push_back(corner + RowOf(owner, below_[a]));
    }
  }
}

// Finds branches: subtrees with a small part of the work each. They meet in the remaining panels.
void BlockCholesky::FindBranches() {
  const int n = num_panels();
  const auto parent = [this](const Supernode& node) {
    return node.num_below > 0 ? node_of_[below_[node.first_below]] : -1;
  };
  work_.assign(n, 0.0);
  double all = 0;
  for (int s = 0; s < n; ++s) {
    const double of_panel = CountWork(nodes_[s]);
    all += of_panel;
    work_[s] += of_panel;
    if (const int p = parent(nodes_[s]); p >= 0) work_[p] += work_[s];
  }
  // A stretch is a chain of panels with one heavy child each, which runs alone until it divides
  // into several heavy children. heavy_ counts the heavy children of each panel.
  stretch_end_.resize(n);
  heavy_.assign(n, 0);
  for (int s = 0; s < n; ++s) {
    const int p = parent(nodes_[s]);
    if (p >= 0 && work_[s] >= kMaxBranchShare / 4 * all) ++heavy_[p];
  }
  // the panel below each one where its stretch divides, or −1
  for (int s = 0; s < n; ++s) stretch_end_[s] = heavy_[s] > 1 ? s : -1;
  for (int s = 0; s < n; ++s) {
    const int p = parent(nodes_[s]);
    if (p >= 0 && heavy_[p] == 1 && work_[s] >= kMaxBranchShare / 4 * all)
      stretch_end_[p] = stretch_end_[s];
  }
  int count = 0;
  for (int s = n - 1; s >= 0; --s) {
    Supernode& node = nodes_[s];
    const int p = parent(node);
    node.branch = p >= 0 ? nodes_[p].branch : -1;
    if (node.branch >= 0 || all < kMaxSerialWork) continue;
    const int end = stretch_end_[s];
    bool divides = end >= 0 && work_[s] > kMaxBranchShare * all;
    if (divides) divides = work_[s] - work_[end] + CountWork(nodes_[end]) <= kMaxSerialShare * all;
    if (!divides) node.branch = count++;
  }
  branch_starts_.assign(count + 1, 0);
  for (const Supernode& node : nodes_)
    if (node.branch >= 0) ++branch_starts_[node.branch + 1];
  for (int k = 0; k < count; ++k) branch_starts_[k + 1] += branch_starts_[k];
  branch_nodes_.resize(branch_starts_.back());
  std::vector<int> filled(branch_starts_.begin(), branch_starts_.end() - 1);
  meeting_.clear();
  for (int s = 0; s < n; ++s) {
    const int branch = nodes_[s].branch;
    if (branch >= 0) {
      branch_nodes_[filled[branch]++] = s;
    } else {
      meeting_.push_back(s);
    }
  }

  // updates that leave a branch are kept; the others of a branch share one place
  std::vector<std::size_t> largest(count + 1, 0);
  std::size_t gathered = 0;
  for (Supernode& node : nodes_) {
    node.gathered = gathered;
    gathered += node.below();
    node.leaves_branch = false;
    for (int k = node.first_below; k < node.first_below + node.num_below; ++k)
      node.leaves_branch |= nodes_[node_of_[below_[k]]].branch != node.branch;
    std::size_t& shared = largest[node.branch + 1];
    if (!node.leaves_branch) shared = std::max(shared, std::size_t(node.below()) * node.below());
  }
  std::size_t size = 0;
  std::vector<std::size_t> shared_places;
  for (const std::size_t one : largest) {
    shared_places.push_back(size);
    size += one;
  }
  for (Supernode& node : nodes_) {
    node.update = shared_places[node.branch + 1];
    if (!node.leaves_branch) continue;
    node.update = size;
    size += std::size_t(node.below()) * node.below();
  }
  updates_.resize(size);
  gathered_.resize(gathered);
}

BlockCholesky::Place BlockCholesky::Find(int i, int j) {
  const Supernode& node = nodes_[node_of_[j]];
  return {&values_[node.panel + std::size_t(row_in_node_[j]) * node.rows + RowOf(node, i)],
          node.rows};
}

void BlockCholesky::Clear(int panel) {
  const Supernode& node = nodes_[panel];
  std::fill_n(&values_[node.panel], std::size_t(node.rows) * node.columns, 0.0);
}

template <typename Need>
bool BlockCholesky::Eliminate(const Supernode& node, const Need& need) {
  need(static_cast<int>(&node - nodes_.data()));
  double* panel = &values_[node.panel];
  if (FactorPanel(node.rows, node.columns, panel, node.rows) >= 0) return false;
  SolveForward(node);
  const int m = node.below();
  if (m == 0) return true;
  NegateLowerTrapezoid(m, m, node.columns, panel + node.columns, node.rows, &updates_[node.update],
                       m);
  AddUpdate(node, true, need);
  return true;
}

template <typename Need>
void BlockCholesky::AddUpdate(const Supernode& node, bool in_branch, const Need& need) {
  const int m = node.below();
  const double* update = &updates_[node.update];
  const double* gathered = &gathered_[node.gathered];
  const std::size_t* target = &targets_[node.target];
  int column = 0;
  for (int b = node.first_below; b < node.first_below + node.num_below; ++b) {
    const int width = sizes_[below_[b]];
    const int owner = node_of_[below_[b]];
    if ((nodes_[owner].branch == node.branch) != in_branch) {
      target += node.first_below + node.num_below - b;
      column += width;
      continue;
    }
    double* y = &permuted_[nodes_[owner].column + row_in_node_[below_[b]]];
    for (int i = 0; i < width; ++i) y[i] += gathered[column + i];
    need(owner);
    const int stride = nodes_[owner].rows;
    int row = column;
    for (int a = b; a < node.first_below + node.num_below; ++a, ++target) {
      const int height = sizes_[below_[a]];
      for (int j = 0; j < width; ++j) {
        double* to = &values_[*target + std::size_t(j) * stride];
        const double* from = &update[std::size_t(column + j) * m + row];
        for (int i = a == b ? j : 0; i < height; ++i) to[i] += from[i];
      }
      row += height;
    }
    column += width;
  }
}

bool BlockCholesky::FactorAndSolve(const std::function<void(int panel)>& fill,
                                   std::span<double> x) {
  Permute(x);
  is_filled_.assign(nodes_.size(), 0);
  const auto need = [&](int panel) {
    if (is_filled_[panel]) return;
    is_filled_[panel] = 1;
    fill(panel);
  };
  std::atomic<bool> failed = false;
  const auto eliminate = [&](std::span<const int> panels) {
    for (const int s : panels) {
      if (failed.load(std::memory_order_relaxed)) return;
      if (!Eliminate(nodes_[s], need)) failed = true;
    }
  };
  // threads that find no more branches fill the panels where they meet
  const int count = num_branches();
  if (count > 0) {
    ParallelForWithin(count + static_cast<int>(meeting_.size()), 1, [&](int k) {
      if (k < count) {
        eliminate(branch(k));
      } else {
        need(meeting_[k - count]);
      }
    });
  }
  if (failed) return false;
  // the panels where branches meet receive the updates in sequential order
  for (const Supernode& node : nodes_) {
    if (node.branch < 0) {
      if (!Eliminate(node, need)) return false;
    } else if (node.leaves_branch) {
      AddUpdate(node, false, need);
    }
  }
  SolveBackward(x);
  return true;
}

void BlockCholesky::Solve(std::span<double> x) {
  Permute(x);
  for (const Supernode& node : nodes_) {
    SolveForward(node);
    ForBelow(node, [](double& to, double from) { to += from; });
  }
  SolveBackward(x);
}

// Calls f(entry of the solution, entry of gathered_) for the rows below a supernode.
template <typename F>
void BlockCholesky::ForBelow(const Supernode& node, const F& f) {
  double* gathered = gathered_.data() + node.gathered;  // may be empty
  for (int b = node.first_below; b < node.first_below + node.num_below; ++b) {
    const int block = below_[b];
    double* y = &permuted_[nodes_[node_of_[block]].column + row_in_node_[block]];
    for (int i = 0; i < sizes_[block]; ++i) f(y[i], *gathered++);
  }
}

void BlockCholesky::Permute(std::span<const double> x) {
  std::size_t to = 0;
  for (const int block : order_) {
    for (int i = 0; i < sizes_[block]; ++i) permuted_[to++] = x[starts_[block] + i];
  }
}

// Solves for a supernode's columns, and leaves its contribution to the rows below in gathered_.
void BlockCholesky::SolveForward(const Supernode& node) {
  const double* panel = &values_[node.panel];
  double* y = &permuted_[node.column];
  SolveLower(node.columns, panel, node.rows, y);
  if (node.below() == 0) return;
  double* gathered = &gathered_[node.gathered];
  std::fill_n(gathered, node.below(), 0.0);
  SubtractMatrixVector(node.below(), node.columns, panel + node.columns, node.rows, y, gathered);
}

void BlockCholesky::SolveBackward(const Supernode& node) {
  const double* panel = &values_[node.panel];
  double* y = &permuted_[node.column];
  if (node.below() > 0) {
    ForBelow(node, [](double& from, double& to) { to = from; });
    SubtractTransposedMatrixVector(node.below(), node.columns, panel + node.columns, node.rows,
                                   &gathered_[node.gathered], y);
  }
  SolveLowerTransposed(node.columns, panel, node.rows, y);
}

void BlockCholesky::SolveBackward(std::span<double> x) {
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node)
    if (node->branch < 0) SolveBackward(*node);
  const auto solve = [this](int k) {
    const std::span<const int> panels = branch(k);
    for (auto s = panels.rbegin(); s != panels.rend(); ++s) SolveBackward(nodes_[*s]);
  };
  if (num_branches() > 0) ParallelForWithin(num_branches(), 1, solve);
  std::size_t from = 0;
  for (const int block : order_) {
    for (int i = 0; i < sizes_[block]; ++i) x[starts_[block] + i] = permuted_[from++];
  }
}

}  // namespace pliant::solvers
