#include "solvers/linalg/partial_cholesky.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>
#include <map>

#include "solvers/linalg/dense.h"
#include "solvers/linalg/elimination_order.h"

namespace pliant::solvers {

// Everything about the factor that follows from the pattern and the participants. Columns are nodes; "position" is a
// node's place in the final elimination order, participants last.
struct PartialCholesky::Symbolic {
  struct Supernode {
    int first = 0;  // position of its first column
    int columns = 0;
    std::vector<int> rows;  // positions below its columns, ascending
    int parent = -1;  // supernode that takes its update; the root's index for the participants
    std::vector<int> relative;  // of each row: place among the parent's columns, then rows
    int in_panel = 0;           // rows that are columns of the parent
    std::vector<int>
        run_end;  // of each row: end of the stretch of rows whose places follow each other
    std::size_t panel = 0;   // offset of its (columns + rows) × columns trapezoid, in numbers
    std::size_t update = 0;  // offset of its rows × rows update matrix

    int height() const { return 3 * (columns + static_cast<int>(rows.size())); }
    int width() const { return 3 * columns; }
    int update_size() const { return 3 * static_cast<int>(rows.size()); }
  };
  // Where a block of A is added: `leading` is its column stride.
  struct Scatter {
    std::size_t offset;
    int leading;
    bool transposed;
  };

  std::vector<int> participants;
  std::vector<int> position;               // of each node
  std::vector<int> node;                   // at each position
  std::vector<Supernode> supernodes;       // in postorder
  std::vector<std::vector<int>> children;  // of each supernode; the last entry is the root's
  std::vector<Scatter> scatter;            // of each block of A
  std::size_t root = 0;                    // offset of the participants' dense matrix
  std::size_t panel_numbers = 0;
  std::size_t update_numbers = 0;
  double flops = 0;

  int root_size() const { return 3 * static_cast<int>(participants.size()); }
};

struct PartialCholesky::Numeric {
  std::vector<double> panels;   // L, and the participants' matrix at the end
  std::vector<double> updates;  // update matrices on their way to a parent
  std::vector<double> schur;
  mutable std::vector<double> x, gathered;
  int failed = -1;
};

namespace {

// Columns of the elimination tree before they are grouped.
struct Tree {
  std::vector<std::vector<int>>
      structure;            // rows below the diagonal of each non-participating column, ascending
  std::vector<int> parent;  // column, or n for the root
};

// Structure of every non-participating column; columns numbered in elimination order, participants from n on.
Tree BuildTree(const std::vector<std::vector<int>>& adjacency, const std::vector<int>& column_node,
               const std::vector<int>& column_of, int n) {
  Tree tree;
  tree.structure.resize(n);
  tree.parent.assign(n, n);
  std::vector<std::vector<int>> children(n);
  std::vector<int> mark(column_node.size(), -1);
  for (int j = 0; j < n; ++j) {
    std::vector<int>& rows = tree.structure[j];
    const auto include = [&](int i) {
      if (i > j && mark[i] != j) {
        mark[i] = j;
        rows.push_back(i);
      }
    };
    for (const int neighbour : adjacency[column_node[j]]) include(column_of[neighbour]);
    for (const int child : children[j]) {
      for (const int i : tree.structure[child]) include(i);
    }
    std::sort(rows.begin(), rows.end());
    if (!rows.empty() && rows.front() < n) {
      tree.parent[j] = rows.front();
      children[rows.front()].push_back(j);
    }
  }
  return tree;
}

// Columns that are eliminated together, ascending, and what that costs.
struct Group {
  std::vector<int> columns;
  double cost = 0;
};

// Cost of eliminating c columns above m rows (nodes), in multiply-adds: the arithmetic, and the passes over the update
// matrix that memory pays for.
double CountCost(double c, double m) {
  constexpr double kPasses = 20;
  c *= 3;
  m *= 3;
  return c * c * c / 3 + c * c * m + c * m * m + kPasses * m * m + 300;
}

// Grows supernodes up the tree while one elimination with explicit zeros is cheaper than two without.
std::vector<Group> Amalgamate(const Tree& tree, std::vector<int>* group_of) {
  const int n = static_cast<int>(tree.parent.size());
  std::vector<Group> groups(n);
  group_of->resize(n);
  for (int j = 0; j < n; ++j) {
    groups[j] = {{j}, CountCost(1, static_cast<double>(tree.structure[j].size()))};
    (*group_of)[j] = j;
  }
  for (int j = 0; j < n; ++j) {
    const int p = tree.parent[j];
    if (p >= n) continue;
    // the group that ends in j, and the one that ends in p
    Group& child = groups[j];
    Group& parent = groups[p];
    const double columns = static_cast<double>(child.columns.size() + parent.columns.size());
    const double cost = CountCost(columns, static_cast<double>(tree.structure[p].size()));
    if (cost > child.cost + parent.cost) continue;
    parent.columns.insert(parent.columns.end(), child.columns.begin(), child.columns.end());
    parent.cost = cost;
    for (const int c : child.columns) (*group_of)[c] = p;
    child.columns.clear();
  }
  for (Group& group : groups) std::sort(group.columns.begin(), group.columns.end());
  return groups;
}

// First-fit places for buffers that live for a while.
class Arena {
 public:
  std::size_t Take(std::size_t size) {
    if (size == 0) return 0;
    for (auto it = holes_.begin(); it != holes_.end(); ++it) {
      if (it->second < size) continue;
      const auto [offset, length] = *it;
      holes_.erase(it);
      if (length > size) holes_[offset + size] = length - size;
      return offset;
    }
    const std::size_t offset = size_;
    size_ += size;
    return offset;
  }

  void Give(std::size_t offset, std::size_t size) {
    if (size == 0) return;
    auto next = holes_.emplace(offset, size).first;
    // join with the neighbours
    const auto after = std::next(next);
    if (after != holes_.end() && next->first + next->second == after->first) {
      next->second += after->second;
      holes_.erase(after);
    }
    if (next != holes_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == next->first) {
        before->second += next->second;
        holes_.erase(next);
      }
    }
  }

  std::size_t size() const { return size_; }

 private:
  std::map<std::size_t, std::size_t> holes_;
  std::size_t size_ = 0;
};

void Add(int n, const double* from, double* to) {
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    _mm256_storeu_pd(to + i, _mm256_add_pd(_mm256_loadu_pd(to + i), _mm256_loadu_pd(from + i)));
  }
  for (; i < n; ++i) to[i] += from[i];
}

// Adds columns [begin, end) of the lower triangle of a child's update to a target whose column and row 0 stand for the
// parent's node `first`.
template <typename Node>
void ExtendAdd(const Node& child, const double* update, int begin, int end, int first,
               double* target, int leading) {
  const int m = static_cast<int>(child.relative.size());
  for (int b = begin; b < end; ++b) {
    for (int c = 0; c < 3; ++c) {
      const double* source = update + std::size_t(3 * b + c) * (3 * m);
      double* column = target + std::size_t(3 * (child.relative[b] - first) + c) * leading;
      for (int a = b; a < m; a = child.run_end[a]) {
        Add(3 * (child.run_end[a] - a), source + 3 * a, column + 3 * (child.relative[a] - first));
      }
    }
  }
}

// Both triangles of a symmetric matrix from the lower one, by tiles: the transposed writes stay in cache.
void CopySymmetric(int n, const double* lower, double* full) {
  constexpr int kTile = 16;
  for (int jb = 0; jb < n; jb += kTile) {
    for (int ib = jb; ib < n; ib += kTile) {
      for (int j = jb; j < std::min(jb + kTile, n); ++j) {
        for (int i = std::max(ib, j); i < std::min(ib + kTile, n); ++i) {
          const double value = lower[std::size_t(j) * n + i];
          full[std::size_t(j) * n + i] = value;
          full[std::size_t(i) * n + j] = value;
        }
      }
    }
  }
}

}  // namespace

PartialCholesky::PartialCholesky(const BlockPattern* pattern)
    : PartialCholesky(pattern, FindEliminationOrder(*pattern)) {}

PartialCholesky::PartialCholesky(const BlockPattern* pattern, std::vector<int> order)
    : pattern_(pattern),
      adjacency_(MakeAdjacency(*pattern)),
      order_(std::move(order)),
      numeric_(std::make_unique<Numeric>()) {}

PartialCholesky::~PartialCholesky() = default;

// Groups columns into supernodes, numbers them in postorder and lays out their storage.
static void LayOut(const BlockPattern& pattern, auto* s, const Tree& tree,
                   const std::vector<int>& column_node, int n) {
  std::vector<int> group_of;
  const std::vector<Group> groups = Amalgamate(tree, &group_of);
  const int num_columns = static_cast<int>(column_node.size());

  // children of each group, the participants' root last
  std::vector<std::vector<int>> children(n + 1);
  for (int g = 0; g < n; ++g) {
    if (groups[g].columns.empty()) continue;
    const int p = tree.parent[g];
    children[p >= n ? n : group_of[p]].push_back(g);
  }

  // postorder without recursion; the root itself is left out
  std::vector<int> postorder;
  std::vector<std::pair<int, std::size_t>> stack{{n, 0}};
  while (!stack.empty()) {
    auto& [g, next] = stack.back();
    if (next < children[g].size()) {
      const int child = children[g][next++];
      stack.emplace_back(child, 0);
    } else {
      if (g != n) postorder.push_back(g);
      stack.pop_back();
    }
  }

  std::vector<int> position_of_column(num_columns), supernode_of_group(n, -1);
  int position = 0;
  for (const int g : postorder) {
    for (const int c : groups[g].columns) position_of_column[c] = position++;
  }
  for (int c = n; c < num_columns; ++c) position_of_column[c] = c;
  s->position.resize(num_columns);
  s->node.resize(num_columns);
  for (int c = 0; c < num_columns; ++c) {
    s->position[column_node[c]] = position_of_column[c];
    s->node[position_of_column[c]] = column_node[c];
  }

  const int count = static_cast<int>(postorder.size());
  s->supernodes.resize(count);
  s->children.assign(count + 1, {});
  std::vector<int> supernode_at(num_columns, count);
  for (int k = 0; k < count; ++k) {
    const int g = postorder[k];
    supernode_of_group[g] = k;
    auto& node = s->supernodes[k];
    node.columns = static_cast<int>(groups[g].columns.size());
    node.first = position_of_column[groups[g].columns.front()];
    for (const int row : tree.structure[g]) node.rows.push_back(position_of_column[row]);
    std::sort(node.rows.begin(), node.rows.end());
    for (int c = 0; c < node.columns; ++c) supernode_at[node.first + c] = k;
    node.panel = s->panel_numbers;
    s->panel_numbers += std::size_t(node.height()) * node.width();
    const double height = node.height(), width = node.width();
    s->flops += width * (height * height - height * width + width * width / 3);
  }
  for (int k = 0; k < count; ++k) {
    const int p = tree.parent[postorder[k]];
    s->supernodes[k].parent = p >= n ? count : supernode_of_group[group_of[p]];
    s->children[s->supernodes[k].parent].push_back(k);
  }
  s->root = s->panel_numbers;
  const double root_size = s->root_size();
  s->panel_numbers += std::size_t(s->root_size()) * s->root_size();
  s->flops += root_size * root_size * root_size / 3;

  // place of a position among the columns, then rows, of a supernode (or of the root)
  const auto local = [&](int k, int at) {
    if (k == count) return at - n;
    const auto& node = s->supernodes[k];
    if (at < node.first + node.columns) return at - node.first;
    return node.columns +
           static_cast<int>(std::lower_bound(node.rows.begin(), node.rows.end(), at) -
                            node.rows.begin());
  };
  Arena arena;
  for (int k = 0; k < count; ++k) {
    auto& node = s->supernodes[k];
    for (const int row : node.rows) node.relative.push_back(local(node.parent, row));
    const int m = static_cast<int>(node.rows.size());
    const int parent_columns = node.parent == count ? 0 : s->supernodes[node.parent].columns;
    node.in_panel = static_cast<int>(
        std::lower_bound(node.relative.begin(), node.relative.end(), parent_columns) -
        node.relative.begin());
    node.run_end.assign(m, m);
    for (int i = m - 2; i >= 0; --i) {
      node.run_end[i] = node.relative[i + 1] == node.relative[i] + 1 ? node.run_end[i + 1] : i + 1;
    }
    node.update = arena.Take(std::size_t(node.update_size()) * node.update_size());
    for (const int child : s->children[k]) {
      const auto& c = s->supernodes[child];
      arena.Give(c.update, std::size_t(c.update_size()) * c.update_size());
    }
  }
  s->update_numbers = arena.size();

  for (int j = 0; j < pattern.num_nodes; ++j) {
    for (int b = pattern.column_starts[j]; b < pattern.column_starts[j + 1]; ++b) {
      const int row = s->position[pattern.rows[b]], column = s->position[j];
      const int low = std::min(row, column), high = std::max(row, column);
      const int k = supernode_at[low];
      const int leading = k == count ? s->root_size() : s->supernodes[k].height();
      const std::size_t start = k == count ? s->root : s->supernodes[k].panel;
      s->scatter.push_back({start + std::size_t(3 * local(k, low)) * leading + 3 * local(k, high),
                            leading, row < column});
    }
  }
}

bool PartialCholesky::Factor(const BlockMatrix& A, std::span<const int> participants) {
  // symbolic work is a function of the participants alone: keep it while they stay the same
  if (!symbolic_ || !std::equal(participants.begin(), participants.end(),
                                symbolic_->participants.begin(), symbolic_->participants.end())) {
    symbolic_ = std::make_unique<Symbolic>();
    symbolic_->participants.assign(participants.begin(), participants.end());
    std::vector<bool> last(pattern_->num_nodes, false);
    for (const int p : participants) last[p] = true;
    std::vector<int> column_node, column_of(pattern_->num_nodes);
    for (const int node : order_) {
      if (!last[node]) column_node.push_back(node);
    }
    const int n = static_cast<int>(column_node.size());
    column_node.insert(column_node.end(), participants.begin(), participants.end());
    for (std::size_t c = 0; c < column_node.size(); ++c)
      column_of[column_node[c]] = static_cast<int>(c);
    const Tree tree = BuildTree(adjacency_, column_node, column_of, n);
    LayOut(*pattern_, symbolic_.get(), tree, column_node, n);
    numeric_->panels.resize(symbolic_->panel_numbers);
    numeric_->updates.resize(symbolic_->update_numbers);
    numeric_->schur.resize(std::size_t(symbolic_->root_size()) * symbolic_->root_size());
  }

  const Symbolic& s = *symbolic_;
  Numeric& f = *numeric_;
  f.failed = -1;
  std::fill(f.panels.begin(), f.panels.end(), 0.0);
  for (std::size_t b = 0; b < s.scatter.size(); ++b) {
    const double* block = &A.values[9 * b];
    const auto& [offset, leading, transposed] = s.scatter[b];
    for (int c = 0; c < 3; ++c) {
      for (int r = 0; r < 3; ++r) {
        f.panels[offset + std::size_t(c) * leading + r] =
            transposed ? block[3 * r + c] : block[3 * c + r];
      }
    }
  }

  for (std::size_t k = 0; k < s.supernodes.size(); ++k) {
    const auto& node = s.supernodes[k];
    double* panel = f.panels.data() + node.panel;
    double* update = f.updates.data() + node.update;
    const int m = node.update_size();
    for (const int c : s.children[k]) {
      const auto& child = s.supernodes[c];
      ExtendAdd(child, f.updates.data() + child.update, 0, child.in_panel, 0, panel, node.height());
    }
    const int failed = FactorPanel(node.height(), node.width(), panel, node.height());
    if (failed >= 0) {
      f.failed = s.node[node.first + failed / 3];
      return false;
    }
    NegateLowerTrapezoid(m, m, node.width(), panel + node.width(), node.height(), update, m);
    for (const int c : s.children[k]) {
      const auto& child = s.supernodes[c];
      ExtendAdd(child, f.updates.data() + child.update, child.in_panel,
                static_cast<int>(child.rows.size()), node.columns, update, m);
    }
  }

  // what is left on the participants is the Schur complement; record it, then factor it too
  const int n = s.root_size();
  double* root = f.panels.data() + s.root;
  for (const int c : s.children.back()) {
    const auto& child = s.supernodes[c];
    ExtendAdd(child, f.updates.data() + child.update, 0, static_cast<int>(child.rows.size()), 0,
              root, n);
  }
  CopySymmetric(n, root, f.schur.data());
  const int failed = FactorCholesky(n, root, n);
  if (failed >= 0) {
    f.failed = s.participants[failed / 3];
    return false;
  }
  return true;
}

int PartialCholesky::failed_node() const {
  return numeric_->failed;
}

std::span<const double> PartialCholesky::schur_complement() const {
  return numeric_->schur;
}

void PartialCholesky::Solve(std::span<double> x) const {
  const Symbolic& s = *symbolic_;
  const Numeric& f = *numeric_;
  std::vector<double>& y = f.x;
  std::vector<double>& t = f.gathered;
  y.resize(x.size());
  t.resize(x.size());
  for (std::size_t i = 0; i < s.node.size(); ++i) std::copy_n(&x[3 * s.node[i]], 3, &y[3 * i]);

  for (const auto& node : s.supernodes) {
    const double* panel = f.panels.data() + node.panel;
    const int w = node.width(), m = node.update_size();
    SolveLower(w, panel, node.height(), &y[3 * node.first]);
    std::fill(t.begin(), t.begin() + m, 0.0);
    SubtractMatrixVector(m, w, panel + w, node.height(), &y[3 * node.first], t.data());
    for (std::size_t i = 0; i < node.rows.size(); ++i) {
      for (int r = 0; r < 3; ++r) y[3 * node.rows[i] + r] += t[3 * i + r];
    }
  }
  const int n = s.root_size();
  double* last = y.data() + (y.size() - n);
  SolveLower(n, f.panels.data() + s.root, n, last);
  SolveLowerTransposed(n, f.panels.data() + s.root, n, last);
  BackSubstitute();
  for (std::size_t i = 0; i < s.node.size(); ++i) std::copy_n(&y[3 * i], 3, &x[3 * s.node[i]]);
}

void PartialCholesky::Expand(std::span<const double> x_p, std::span<double> x) const {
  const Symbolic& s = *symbolic_;
  const Numeric& f = *numeric_;
  std::vector<double>& y = f.x;
  y.assign(x.size(), 0.0);
  f.gathered.resize(x.size());
  std::copy(x_p.begin(), x_p.end(), y.end() - s.root_size());
  BackSubstitute();
  for (std::size_t i = 0; i < s.node.size(); ++i) std::copy_n(&y[3 * i], 3, &x[3 * s.node[i]]);
}

void PartialCholesky::BackSubstitute() const {
  const Symbolic& s = *symbolic_;
  const Numeric& f = *numeric_;
  std::vector<double>& y = f.x;
  std::vector<double>& t = f.gathered;
  for (auto node = s.supernodes.rbegin(); node != s.supernodes.rend(); ++node) {
    const double* panel = f.panels.data() + node->panel;
    const int w = node->width(), m = node->update_size();
    for (std::size_t i = 0; i < node->rows.size(); ++i)
      std::copy_n(&y[3 * node->rows[i]], 3, &t[3 * i]);
    SubtractTransposedMatrixVector(m, w, panel + w, node->height(), t.data(), &y[3 * node->first]);
    SolveLowerTransposed(w, panel, node->height(), &y[3 * node->first]);
  }
}

double PartialCholesky::flops() const {
  return symbolic_->flops;
}

}  // namespace pliant::solvers
