#include "solvers/linalg/lanes/lane_layout.h"

#include <algorithm>

#include "solvers/linalg/elimination_order.h"

namespace pliant::solvers {
namespace {

// Rows below the diagonal in each column of the factor, by position, and each column's parent.
struct Elimination {
  std::vector<std::vector<int>> structure;
  std::vector<int> parent;
};

Elimination Eliminate(const std::vector<std::vector<int>>& adjacency, std::span<const int> position,
                      std::span<const int> node) {
  const int n = static_cast<int>(node.size());
  Elimination result{std::vector<std::vector<int>>(n), std::vector<int>(n, -1)};
  std::vector<std::vector<int>> children(n);
  std::vector<int> mark(n, -1);
  for (int j = 0; j < n; ++j) {
    std::vector<int>& structure = result.structure[j];
    const auto include = [&](int i) {
      if (i <= j || mark[i] == j) return;
      mark[i] = j;
      structure.push_back(i);
    };
    for (const int neighbour : adjacency[node[j]]) include(position[neighbour]);
    for (const int child : children[j]) {
      for (const int i : result.structure[child]) include(i);
    }
    std::sort(structure.begin(), structure.end());
    if (structure.empty()) continue;
    result.parent[j] = structure.front();
    children[structure.front()].push_back(j);
  }
  return result;
}

// Old positions in postorder; siblings keep their order.
std::vector<int> FindPostorder(const std::vector<int>& parent) {
  const int n = static_cast<int>(parent.size());
  std::vector<int> size(n, 1), begin(n), postorder(n);
  for (int j = 0; j < n; ++j) {
    if (parent[j] >= 0) size[parent[j]] += size[j];
  }
  // a subtree fills a range that ends in its root; parents come after their children, so go
  // backwards
  std::vector<int> end(n);
  int roots_end = n;
  for (int j = n - 1; j >= 0; --j) {
    int& space_end = parent[j] < 0 ? roots_end : begin[parent[j]];
    end[j] = space_end;
    space_end -= size[j];
    // the children fill the rest from its end down
    begin[j] = end[j] - 1;
    postorder[end[j] - 1] = j;
  }
  return postorder;
}

}  // namespace

LaneLayout::LaneLayout(const BlockPattern& pattern, std::span<const int> order)
    : num_sources_(static_cast<int>(pattern.rows.size())),
      node_(order.begin(), order.end()),
      position_(pattern.num_nodes) {
  const auto adjacency = MakeAdjacency(pattern);
  const auto place = [this] {
    for (int k = 0; k < num_nodes(); ++k) position_[node_[k]] = k;
  };
  place();
  const std::vector<int> postorder = FindPostorder(Eliminate(adjacency, position_, node_).parent);
  for (int k = 0; k < num_nodes(); ++k) node_[k] = order[postorder[k]];
  place();
  const Elimination elimination = Eliminate(adjacency, position_, node_);
  parent_ = elimination.parent;

  // blocks by column, and those left of the diagonal in each row
  column_starts_.assign(1, 0);
  std::vector<std::vector<int>> row_blocks(num_nodes()), row_columns(num_nodes());
  for (int j = 0; j < num_nodes(); ++j) {
    rows_.push_back(j);
    rows_.insert(rows_.end(), elimination.structure[j].begin(), elimination.structure[j].end());
    column_starts_.push_back(num_blocks());
    for (int b = column_starts_[j]; b < num_blocks(); ++b) {
      const int block = pattern.Find(node_[rows_[b]], node_[j]);
      sources_.push_back(block);
      is_transposed_.push_back(node_[rows_[b]] < node_[j]);
      if (b == column_starts_[j]) continue;
      row_blocks[rows_[b]].push_back(b);
      row_columns[rows_[b]].push_back(j);
    }
  }
  // each column that two rows have in common makes a term
  term_starts_.assign(1, 0);
  for (int j = 0; j < num_nodes(); ++j) {
    for (int b = column_starts_[j]; b < column_starts_[j + 1]; ++b) {
      const int i = rows_[b];
      std::size_t of_i = 0;
      for (std::size_t k = 0; k < row_columns[j].size() && row_columns[j][k] < j; ++k) {
        while (of_i < row_columns[i].size() && row_columns[i][of_i] < row_columns[j][k]) ++of_i;
        if (of_i == row_columns[i].size()) break;
        if (row_columns[i][of_i] == row_columns[j][k])
          terms_.push_back({row_blocks[i][of_i], row_blocks[j][k]});
      }
      term_starts_.push_back(static_cast<int>(terms_.size()));
    }
  }
}

}  // namespace pliant::solvers
