#include "solvers/linalg/block_cholesky.h"

#include <algorithm>
#include <limits>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {

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
  FindOrder();
  LayOut();
}

void BlockCholesky::FindOrder() {
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
  constexpr int kGone = std::numeric_limits<int>::max();
  while (static_cast<int>(order_.size()) < n) {
    const int least =
        static_cast<int>(std::min_element(degree_.begin(), degree_.end()) - degree_.begin());

    // its neighbours become a clique; those that see nothing else are eliminated with it
    clique_.assign(neighbours_[least].begin(), neighbours_[least].end());
    Supernode node{};
    node.first_block = static_cast<int>(order_.size());
    node.first_below = static_cast<int>(below_.size());
    order_.push_back(least);
    degree_[least] = kGone;
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
        degree_[i] = kGone;
      } else {
        below_.push_back(i);
      }
    }
    node.num_blocks = static_cast<int>(order_.size()) - node.first_block;
    node.num_below = static_cast<int>(below_.size()) - node.first_below;
    for (int k = node.first_below; k < node.first_below + node.num_below; ++k) {
      const int i = below_[k];
      if (node.num_blocks > 1)
        std::erase_if(neighbours_[i], [&](int j) { return degree_[j] == kGone; });
      degree_[i] = 0;
      for (const int j : neighbours_[i]) degree_[i] += sizes_[j];
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
  std::size_t size = 0, largest = 0;
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
    size += std::size_t(node.rows) * node.columns;
    const std::size_t m = node.rows - node.columns;
    largest = std::max(largest, m * m);
    column += node.columns;
  }
  values_.resize(size + kBeyond);
  update_.resize(largest);
  permuted_.resize(column);
  gathered_.resize(column);

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

BlockCholesky::Place BlockCholesky::Find(int i, int j) {
  const Supernode& node = nodes_[node_of_[j]];
  return {&values_[node.panel + std::size_t(row_in_node_[j]) * node.rows + RowOf(node, i)],
          node.rows};
}

bool BlockCholesky::FactorAndSolve(const std::function<void(int panel)>& fill,
                                   std::span<double> x) {
  Permute(x);
  is_filled_.assign(nodes_.size(), 0);
  const auto need = [&](int panel) {
    if (is_filled_[panel]) return;
    is_filled_[panel] = 1;
    const Supernode& node = nodes_[panel];
    std::fill_n(&values_[node.panel], std::size_t(node.rows) * node.columns, 0.0);
    fill(panel);
  };
  for (int s = 0; s < num_panels(); ++s) {
    need(s);
    const Supernode& node = nodes_[s];
    double* panel = &values_[node.panel];
    if (FactorPanel(node.rows, node.columns, panel, node.rows) >= 0) return false;
    SolveForward(node);
    const int m = node.rows - node.columns;
    if (m == 0) continue;
    NegateLowerTrapezoid(m, m, node.columns, panel + node.columns, node.rows, update_.data(), m);
    const std::size_t* target = &targets_[node.target];
    int column = 0;
    for (int b = node.first_below; b < node.first_below + node.num_below; ++b) {
      need(node_of_[below_[b]]);
      const int stride = nodes_[node_of_[below_[b]]].rows;
      const int width = sizes_[below_[b]];
      int row = column;
      for (int a = b; a < node.first_below + node.num_below; ++a, ++target) {
        const int height = sizes_[below_[a]];
        for (int j = 0; j < width; ++j) {
          double* to = &values_[*target + std::size_t(j) * stride];
          const double* from = &update_[std::size_t(column + j) * m + row];
          for (int i = a == b ? j : 0; i < height; ++i) to[i] += from[i];
        }
        row += height;
      }
      column += width;
    }
  }
  SolveBackward(x);
  return true;
}

void BlockCholesky::Solve(std::span<double> x) {
  Permute(x);
  for (const Supernode& node : nodes_) SolveForward(node);
  SolveBackward(x);
}

// f(entry of the solution, entry of gathered_) for the rows below a supernode
template <typename F>
void BlockCholesky::ForBelow(const Supernode& node, const F& f) {
  int row = 0;
  for (int b = node.first_below; b < node.first_below + node.num_below; ++b) {
    const int block = below_[b];
    double* y = &permuted_[nodes_[node_of_[block]].column + row_in_node_[block]];
    for (int i = 0; i < sizes_[block]; ++i) f(y[i], gathered_[row++]);
  }
}

void BlockCholesky::Permute(std::span<const double> x) {
  std::size_t to = 0;
  for (const int block : order_) {
    for (int i = 0; i < sizes_[block]; ++i) permuted_[to++] = x[starts_[block] + i];
  }
}

void BlockCholesky::SolveForward(const Supernode& node) {
  const double* panel = &values_[node.panel];
  double* y = &permuted_[node.column];
  SolveLower(node.columns, panel, node.rows, y);
  const int m = node.rows - node.columns;
  if (m == 0) return;
  std::fill_n(gathered_.begin(), m, 0.0);
  SubtractMatrixVector(m, node.columns, panel + node.columns, node.rows, y, gathered_.data());
  ForBelow(node, [](double& to, double from) { to += from; });
}

void BlockCholesky::SolveBackward(std::span<double> x) {
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    const double* panel = &values_[node->panel];
    double* y = &permuted_[node->column];
    const int m = node->rows - node->columns;
    if (m > 0) {
      ForBelow(*node, [](double& from, double& to) { to = from; });
      SubtractTransposedMatrixVector(m, node->columns, panel + node->columns, node->rows,
                                     gathered_.data(), y);
    }
    SolveLowerTransposed(node->columns, panel, node->rows, y);
  }
  std::size_t from = 0;
  for (const int block : order_) {
    for (int i = 0; i < sizes_[block]; ++i) x[starts_[block] + i] = permuted_[from++];
  }
}

}  // namespace pliant::solvers
