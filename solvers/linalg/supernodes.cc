#include "solvers/linalg/supernodes.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace pliant::solvers {
namespace {

// Multiply-adds below which threads do not pay off.
constexpr double kMaxSerialOperations = 1e7;

// Cost of eliminating c columns above m rows (nodes), in multiply-adds: the arithmetic, the memory
// traffic of passes over the update matrix, and a fixed cost per supernode.
double CountCost(double c, double m) {
  constexpr double kPasses = 8, kOverhead = 1500;
  c *= 3;
  m *= 3;
  return c * c * c / 3 + c * c * m + c * m * m + kPasses * m * m + kOverhead;
}

template <typename Visit>
void VisitBits(const std::uint64_t* bits, int first_word, int num_words, const Visit& visit) {
  for (int w = first_word; w < num_words; ++w) {
    for (std::uint64_t rest = bits[w]; rest != 0; rest &= rest - 1)
      visit(64 * w + std::countr_zero(rest));
  }
}

void Mark(std::uint64_t* bits, int i) {
  bits[i / 64] |= std::uint64_t{1} << (i % 64);
}

// Grows supernodes up the tree while one elimination with explicit zeros is cheaper than two
// without. Column j has num_rows(j) rows below its diagonal. Sets `group` of each column to the
// last column of its group, and `size` and `cost` of that one to those of the group.
template <typename NumRows>
void Amalgamate(std::span<const int> parents, const NumRows& num_rows, std::vector<int>* group,
                std::vector<int>* size, std::vector<double>* cost) {
  const int n = static_cast<int>(parents.size());
  group->resize(n);
  size->assign(n, 1);
  cost->resize(n);
  for (int j = 0; j < n; ++j) (*cost)[j] = CountCost(1, static_cast<double>(num_rows(j)));
  for (int j = 0; j < n; ++j) {
    // merge the group that ends in j with the one that ends in p
    const int p = parents[j];
    (*group)[j] = j;
    if (p >= n) continue;
    const double together = CountCost((*size)[j] + (*size)[p], static_cast<double>(num_rows(p)));
    if (together > (*cost)[j] + (*cost)[p]) continue;
    (*size)[p] += (*size)[j];
    (*cost)[p] = together;
    (*group)[j] = p;
  }
  for (int j = n - 1; j >= 0; --j) (*group)[j] = (*group)[(*group)[j]];
}

// Additions and multiplications that eliminate c columns above m rows (nodes).
double CountOperations(std::size_t c, std::size_t m) {
  const double width = 3 * static_cast<double>(c), height = width + 3 * static_cast<double>(m);
  return width * (height * height - height * width + width * width / 3);
}

}  // namespace

double CountFactorOperations(const std::vector<int>& order, const EliminationTree& tree) {
  const int n = static_cast<int>(order.size());
  std::vector<int> rank(n), parents(n);
  for (int k = 0; k < n; ++k) rank[order[k]] = k;
  for (int k = 0; k < n; ++k) {
    const int parent = tree.parents[order[k]];
    parents[k] = parent < 0 ? n : rank[parent];
  }
  const auto num_rows = [&](int k) { return tree.num_rows[order[k]]; };
  std::vector<int> group, size;
  std::vector<double> cost;
  Amalgamate(parents, num_rows, &group, &size, &cost);
  double operations = 0;
  for (int j = 0; j < n; ++j)
    if (group[j] == j) operations += CountOperations(size[j], num_rows(j));
  return operations;
}

void FindRuns(std::span<const int> places, std::span<int> run_end) {
  const int m = static_cast<int>(places.size());
  for (int r = m - 1; r >= 0; --r) {
    const bool goes_on = r + 1 < m && places[r + 1] == places[r] + 1;
    run_end[r] = goes_on ? run_end[r + 1] : r + 1;
  }
}

void SupernodeLayout::SetPattern(const BlockPattern& pattern, std::span<const int> order) {
  order_.assign(order.begin(), order.end());
  for (std::vector<int>* of_nodes : {&node_, &position_, &rank_})
    of_nodes->resize(pattern.num_nodes);
  for (int k = 0; k < pattern.num_nodes; ++k) rank_[order_[k]] = k;
  neighbour_starts_.assign(pattern.num_nodes + 2, 0);
  const auto for_each_block = [&](const auto& visit) {
    for (int j = 0; j < pattern.num_nodes; ++j) {
      for (int b = pattern.column_starts[j]; b < pattern.column_starts[j + 1]; ++b) {
        visit(j, pattern.rows[b], b);
        if (pattern.rows[b] != j) visit(pattern.rows[b], j, b);
      }
    }
  };
  // listing a node's neighbours moves starts[i] to their end, which is the start of the next node's
  int* starts = neighbour_starts_.data() + 1;
  for_each_block([&](int i, int, int) { ++starts[i + 1]; });
  for (int i = 0; i < pattern.num_nodes; ++i) starts[i + 1] += starts[i];
  neighbours_.resize(starts[pattern.num_nodes]);
  for_each_block([&](int i, int j, int b) { neighbours_[starts[i]++] = {j, b}; });
}

void SupernodeLayout::LayOut(std::span<const int> participants, const SupernodeLayout* below) {
  participants_.assign(participants.begin(), participants.end());
  column_of_.assign(num_nodes(), 0);
  for (const int p : participants_) column_of_[p] = -1;
  column_node_.clear();
  for (const int node : order_) {
    if (column_of_[node] == 0) column_node_.push_back(node);
  }
  column_node_.insert(column_node_.end(), participants_.begin(), participants_.end());
  for (int c = 0; c < num_nodes(); ++c) column_of_[column_node_[c]] = c;

  FindStructures();
  Amalgamate(
      parent_, [this](int j) { return structure(j).size(); }, &group_, &group_size_, &group_cost_);
  OrderGroups(below);
  FindCliques();
}

void SupernodeLayout::Place(std::span<const int> order_of_participants, bool is_root_dense) {
  for (std::size_t k = 0; k < order_of_participants.size(); ++k) {
    const int node = participants_[order_of_participants[k]];
    position_[node] = num_columns() + static_cast<int>(k);
    node_[position_[node]] = node;
  }
  PlaceSupernodes();
  PlaceRows();
  FindBranches();
  if (is_root_dense) PlaceRoot();
  PlaceUpdates();
}

void SupernodeLayout::PlaceRoot() {
  Supernode& root = supernodes_.back();
  const double width = root.width();
  flops_ += width * width * width / 3;
  root.panel = panel_numbers_;
  panel_numbers_ += std::size_t(root.width()) * root.width();
  for (int c = 0; c < root.columns; ++c) place_[root.first + c] = c;
  PlaceBlocks(&root);
}

// Finds the rows below the diagonal in each column of the factor, as bit sets that children pass to
// their parents.
void SupernodeLayout::FindStructures() {
  const int n = num_columns(), words = num_nodes() / 64 + 1;
  structure_starts_.assign(1, 0);
  structure_.clear();
  parent_.resize(n);
  first_child_.assign(n + 1, -1);
  next_child_.resize(n);
  bit_row_.resize(n);
  bit_end_.resize(n);
  bits_.clear();
  free_rows_.clear();
  for (int j = 0; j < n; ++j) {
    if (free_rows_.empty()) {
      free_rows_.push_back(static_cast<int>(bits_.size() / words));
      bits_.resize(bits_.size() + words);
    }
    const int first_word = j / 64;
    std::uint64_t* bits = &bits_[std::size_t(free_rows_.back()) * words];
    bit_row_[j] = free_rows_.back();
    free_rows_.pop_back();
    const int node = column_node_[j];
    const auto neighbours = std::span(neighbours_)
                                .subspan(neighbour_starts_[node],
                                         neighbour_starts_[node + 1] - neighbour_starts_[node]);
    // in separate parts of the graph, columns use few words
    int& end_word = bit_end_[j] = first_word + 1;
    for (const Neighbour& neighbour : neighbours)
      end_word = std::max(end_word, column_of_[neighbour.node] / 64 + 1);
    for (int child = first_child_[j]; child >= 0; child = next_child_[child])
      end_word = std::max(end_word, bit_end_[child]);
    std::fill(bits + first_word, bits + end_word, 0);
    for (const Neighbour& neighbour : neighbours) {
      const int i = column_of_[neighbour.node];
      if (i > j) Mark(bits, i);
    }
    for (int child = first_child_[j]; child >= 0; child = next_child_[child]) {
      const std::uint64_t* theirs = &bits_[std::size_t(bit_row_[child]) * words];
      for (int w = first_word; w < bit_end_[child]; ++w) bits[w] |= theirs[w];
      free_rows_.push_back(bit_row_[child]);
    }
    bits[first_word] &= ~((std::uint64_t{2} << (j % 64)) - 1);
    VisitBits(bits, first_word, end_word, [&](int i) { structure_.push_back(i); });
    const int start = structure_starts_.back();
    structure_starts_.push_back(static_cast<int>(structure_.size()));
    const bool has_parent = start < structure_starts_.back() && structure_[start] < n;
    parent_[j] = has_parent ? structure_[start] : n;
    if (has_parent) {
      next_child_[j] = first_child_[parent_[j]];
      first_child_[parent_[j]] = j;
    }
  }
}

// Finds a postorder of the groups and the resulting position of each column.
void SupernodeLayout::OrderGroups(const SupernodeLayout* below) {
  const int n = num_columns();
  first_child_.assign(n + 1, -1);
  for (int j = n - 1; j >= 0; --j) {
    if (group_[j] != j) continue;
    const int p = parent_[j] < n ? group_[parent_[j]] : n;
    next_child_[j] = first_child_[p];
    first_child_[p] = j;
  }
  postorder_.clear();
  group_start_.resize(n);
  int position = 0;
  for (int g = first_child_[n]; g >= 0;) {
    // descend to a leaf, then go to the next sibling or up
    while (first_child_[g] >= 0) g = first_child_[g];
    for (;;) {
      postorder_.push_back(g);
      group_start_[g] = position;
      position += group_size_[g];
      if (next_child_[g] >= 0) {
        g = next_child_[g];
        break;
      }
      g = parent_[g] < n ? group_[parent_[g]] : -1;
      if (g < 0) break;
    }
  }
  for (int c = 0; c < num_nodes(); ++c)
    node_[c < n ? group_start_[group_[c]]++ : c] = column_node_[c];
  OrderColumns(below);
  for (int at = 0; at < num_nodes(); ++at) position_[node_[at]] = at;
}

// Orders the columns within each group, which may be in any order, so that the rows of matrices
// added to the group form few runs. This is partition refinement, starting with the structures with
// most rows (Jacquelin, Ng and Peyton 2018, "Fast and effective reordering of columns within
// supernodes using partition refinement"). Cliques come before groups, so that the largest may
// cover the whole remainder of its panel.
void SupernodeLayout::OrderColumns(const SupernodeLayout* below) {
  const int n = num_columns();
  part_end_.resize(n);
  first_of_size_.assign(num_nodes(), -1);
  next_of_size_.resize(n);
  for (const int g : postorder_) {
    part_end_[FirstOf(g)] = EndOf(g);
    next_of_size_[g] = std::exchange(first_of_size_[structure(g).size()], g);
  }
  first_row_in_.assign(n, -1);
  next_row_.resize(n);
  is_split_off_.assign(n, 0);
  if (below != nullptr) {
    cliques_by_size_.resize(below->num_cliques());
    std::iota(cliques_by_size_.begin(), cliques_by_size_.end(), 0);
    std::ranges::sort(cliques_by_size_, {},
                      [&](int k) { return std::pair(-std::ssize(below->clique(k)), k); });
    for (const int k : cliques_by_size_) {
      clique_columns_.clear();
      for (const int node : below->clique(k))
        if (column_of_[node] < n) clique_columns_.push_back(column_of_[node]);
      SplitBy(clique_columns_);
    }
  }
  for (int size = num_nodes() - 1; size > 1; --size) {
    for (int g = first_of_size_[size]; g >= 0; g = next_of_size_[g]) {
      const std::span<const int> rows = structure(g);
      SplitBy(rows.first(std::ranges::lower_bound(rows, n) - rows.begin()));
    }
  }
}

// Separates these columns from the others in their groups.
void SupernodeLayout::SplitBy(std::span<const int> columns) {
  groups_above_.clear();
  for (const int row : columns) {
    const int above = group_[row];
    if (first_row_in_[above] < 0) groups_above_.push_back(above);
    next_row_[row] = std::exchange(first_row_in_[above], row);
  }
  for (const int above : groups_above_) {
    const int first = std::exchange(first_row_in_[above], -1);
    for (int row = first; row >= 0; row = next_row_[row]) is_split_off_[row] = 1;
    SplitParts(above);
    for (int row = first; row >= 0; row = next_row_[row]) is_split_off_[row] = 0;
  }
}

// Moves the marked columns within each part of a group, and splits the part there: to its front if
// the part before it ends with marked columns, else to its back.
void SupernodeLayout::SplitParts(int group) {
  const auto is_split_off = [this](int node) { return is_split_off_[column_of_[node]] != 0; };
  bool follow = false;
  for (int begin = FirstOf(group), next; begin < EndOf(group); begin = next) {
    next = part_end_[begin];
    int middle = begin;
    others_.clear();
    for (int at = begin; at < next; ++at) {
      const int node = node_[at];
      if (is_split_off(node) == follow) {
        node_[middle++] = node;
      } else {
        others_.push_back(node);
      }
    }
    std::ranges::copy(others_, node_.begin() + middle);
    if (middle > begin && middle < next) {
      part_end_[begin] = middle;
      part_end_[middle] = next;
    }
    follow = is_split_off(node_[next - 1]);
  }
}

void SupernodeLayout::FindCliques() {
  const int n = num_columns();
  tops_.clear();
  cliques_.clear();
  clique_starts_.assign(1, 0);
  for (const int g : postorder_) {
    if (parent_[g] < n) continue;
    tops_.push_back(g);
    for (const int column : structure(g)) cliques_.push_back(column - n);
    clique_starts_.push_back(static_cast<int>(cliques_.size()));
  }
}

bool SupernodeLayout::ends_before_participants() const {
  for (int k = 0; k < num_cliques(); ++k) {
    // the top column is the last one of its part
    const int last = rank_[column_node_[tops_[k]]];
    for (const int i : clique(k))
      if (rank_[participants_[i]] < last) return false;
  }
  return true;
}

void SupernodeLayout::PlaceSupernodes() {
  const int n = num_columns(), count = static_cast<int>(postorder_.size());
  const int words = num_nodes() / 64 + 1;
  supernodes_.assign(count + 1, {});
  supernode_of_.resize(n + 1);
  for (int k = 0; k < count; ++k) supernode_of_[postorder_[k]] = k;
  bits_.assign(words, 0);
  rows_.clear();
  panel_numbers_ = 0;
  flops_ = 0;
  for (int k = 0; k < count; ++k) {
    const int g = postorder_[k];
    Supernode& node = supernodes_[k];
    node.columns = group_size_[g];
    node.first = FirstOf(g);
    node.first_row = static_cast<int>(rows_.size());
    int last = node.first;
    for (const int row : structure(g)) {
      const int at = position_[column_node_[row]];
      Mark(bits_.data(), at);
      last = std::max(last, at);
    }
    VisitBits(bits_.data(), node.first / 64, last / 64 + 1, [&](int at) { rows_.push_back(at); });
    std::fill(bits_.begin() + node.first / 64, bits_.begin() + last / 64 + 1, 0);
    node.num_rows = static_cast<int>(rows_.size()) - node.first_row;
    node.panel = panel_numbers_;
    panel_numbers_ += std::size_t(node.height()) * node.width();
    flops_ += CountOperations(node.columns, node.num_rows);
  }
  Supernode& root = supernodes_.back();
  root.first = n;
  root.columns = static_cast<int>(participants_.size());
  root.first_row = static_cast<int>(rows_.size());

  // counting sort of the children
  const auto parent_of = [&](int k) {
    const int p = parent_[postorder_[k]];
    return p < n ? supernode_of_[group_[p]] : count;
  };
  for (int k = 0; k < count; ++k) ++supernodes_[parent_of(k)].num_children;
  int first = 0;
  for (Supernode& node : supernodes_) {
    node.first_child = first;
    first += node.num_children;
    node.num_children = 0;
  }
  children_.resize(count);
  parents_.resize(count);
  for (int k = 0; k < count; ++k) {
    Supernode& parent = supernodes_[parent_of(k)];
    parents_[k] = parent_of(k) < count ? parent_of(k) : -1;
    children_[parent.first_child + parent.num_children++] = k;
  }
}

// Finds the place of each row in the parent, and of each block of A in its panel.
void SupernodeLayout::PlaceRows() {
  relative_.resize(rows_.size());
  run_end_.resize(rows_.size());
  blocks_.clear();
  blocks_.reserve((neighbours_.size() + num_nodes()) / 2);  // each is a neighbour of both nodes
  place_.resize(num_nodes());
  for (Supernode& node : supernodes_) {
    for (int c = 0; c < node.columns; ++c) place_[node.first + c] = c;
    for (int r = 0; r < node.num_rows; ++r) place_[rows_[node.first_row + r]] = node.columns + r;
    if (&node != &supernodes_.back()) PlaceBlocks(&node);
    for (const int c : children(node)) {
      Supernode& child = supernodes_[c];
      const auto relative = std::span(relative_).subspan(child.first_row, child.num_rows);
      for (int r = 0; r < child.num_rows; ++r) {
        relative[r] = place_[rows_[child.first_row + r]];
        if (relative[r] < node.columns) ++child.in_panel;
      }
      FindRuns(relative, std::span(run_end_).subspan(child.first_row, child.num_rows));
    }
  }
}

void SupernodeLayout::PlaceBlocks(Supernode* node) {
  node->first_block = static_cast<int>(blocks_.size());
  const std::size_t height = node->height();
  for (int c = 0; c < node->columns; ++c) {
    const int column = node_[node->first + c];
    for (int k = neighbour_starts_[column]; k < neighbour_starts_[column + 1]; ++k) {
      const auto& [row, block] = neighbours_[k];
      if (position_[row] < node->first + c) continue;
      blocks_.push_back({block, row < column,
                         node->panel + 3 * c * height + 3 * std::size_t(place_[position_[row]])});
    }
  }
  node->num_blocks = static_cast<int>(blocks_.size()) - node->first_block;
}

void SupernodeLayout::PlaceUpdates() {
  arena_.Clear();
  for (Supernode& node : supernodes_) {
    node.update = arena_.Take(node.update_numbers());
    for (const int c : children(node))
      arena_.Give(supernodes_[c].update, supernodes_[c].update_numbers());
  }
  update_numbers_ = arena_.size();
  PlaceBranchUpdates();
}

void SupernodeLayout::FindBranches() {
  work_.clear();
  for (const Supernode& node : supernodes())
    work_.push_back(CountCost(node.columns, node.num_rows));
  branches_.Find(parents_, work_, kMaxSerialOperations);
}

// Places update matrices for parallel branches. Those that leave a branch are kept, as are all in
// the parts where branches meet. The others share the branch's work space.
void SupernodeLayout::PlaceBranchUpdates() {
  branch_numbers_ = 0;
  for (const Branches::Part& part : branches_.parts()) {
    const bool meets = part.num_below > 0;
    arena_.Clear();
    branches_.ForOwn(part, [&](int k) {
      Supernode& node = supernodes_[k];
      node.is_kept = meets || parents_[k] < 0 || parents_[k] >= part.end;
      if (!node.is_kept) node.branch_update = arena_.Take(node.update_numbers());
      if (meets) return;
      for (const int c : children(node))
        arena_.Give(supernodes_[c].branch_update, supernodes_[c].update_numbers());
    });
    branch_numbers_ = std::max(branch_numbers_, arena_.size());
  }
}

std::size_t SupernodeLayout::Arena::Take(std::size_t size) {
  if (size == 0) return 0;
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    if (hole->size < size) continue;
    const std::size_t offset = hole->offset;
    hole->offset += size;
    hole->size -= size;
    if (hole->size == 0) holes_.erase(hole);
    return offset;
  }
  const std::size_t offset = size_;
  size_ += size;
  return offset;
}

void SupernodeLayout::Arena::Give(std::size_t offset, std::size_t size) {
  if (size == 0) return;
  auto next = std::lower_bound(holes_.begin(), holes_.end(), offset,
                               [](const Hole& hole, std::size_t at) { return hole.offset < at; });
  // merge with adjacent holes
  if (next != holes_.end() && offset + size == next->offset) {
    next->offset = offset;
    next->size += size;
  } else {
    next = holes_.insert(next, {offset, size});
  }
  if (next != holes_.begin() && std::prev(next)->offset + std::prev(next)->size == next->offset) {
    std::prev(next)->size += next->size;
    holes_.erase(next);
  }
}

}  // namespace pliant::solvers
