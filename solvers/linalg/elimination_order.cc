#include "solvers/linalg/elimination_order.h"

#include <algorithm>
#include <limits>
#include <metis.h>
#include <mutex>
#include <numeric>
#include <utility>

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>

namespace pliant::solvers {
namespace {

// Number of seeds per dissection for meshes with fewer than kManyNodes nodes. Larger meshes get one
// dissection into equal halves, because the branches of their trees run in parallel.
constexpr int kSeeds = 12, kManyNodes = 4000;

// Compressed adjacency in the format of METIS.
struct Graph {
  std::vector<int> starts{0};
  std::vector<int> neighbours;
};

Graph MakeGraph(const std::vector<std::vector<int>>& adjacency) {
  Graph graph;
  for (const std::vector<int>& list : adjacency) {
    graph.neighbours.insert(graph.neighbours.end(), list.begin(), list.end());
    graph.starts.push_back(static_cast<int>(graph.neighbours.size()));
  }
  return graph;
}

// Options of METIS: by how much (1 + balance / 1000) the halves may differ, how the graph is
// coarsened, and whether separators are refined from one side at a time or from both.
struct Dissection {
  int balance;
  mctype_et coarsening;
  mrtype_et refinement;
};
constexpr Dissection kEqualHalves = {200, METIS_CTYPE_SHEM, METIS_RTYPE_SEP1SIDED};
// None of these is the best for all meshes.
constexpr Dissection kDissections[] = {{300, METIS_CTYPE_RM, METIS_RTYPE_SEP1SIDED},
                                       {500, METIS_CTYPE_RM, METIS_RTYPE_SEP1SIDED},
                                       {600, METIS_CTYPE_SHEM, METIS_RTYPE_SEP2SIDED}};

std::vector<int> DissectNested(const Graph& graph, const Dissection& dissection, int seed) {
  static_assert(sizeof(idx_t) == sizeof(int));
  idx_t n = static_cast<idx_t>(graph.starts.size()) - 1;
  std::vector<idx_t> starts(graph.starts.begin(), graph.starts.end());
  std::vector<idx_t> neighbours(graph.neighbours.begin(), graph.neighbours.end());
  std::vector<idx_t> order(n), position(n);
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = seed;
  options[METIS_OPTION_NSEPS] = 4;
  options[METIS_OPTION_UFACTOR] = dissection.balance;
  options[METIS_OPTION_CTYPE] = dissection.coarsening;
  options[METIS_OPTION_RTYPE] = dissection.refinement;
  {
    // METIS has one sequence of random numbers per process: orders found concurrently would depend
    // on each other
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    METIS_NodeND(&n, starts.data(), neighbours.data(), nullptr, options, order.data(),
                 position.data());
  }
  return {order.begin(), order.end()};
}

std::vector<int> FindMinimumDegreeOrder(const Graph& graph) {
  const int n = static_cast<int>(graph.starts.size()) - 1;
  std::vector<Eigen::Triplet<char>> entries;
  for (int i = 0; i < n; ++i) {
    // Eigen treats a row without its diagonal as already eliminated
    entries.emplace_back(i, i, 1);
    for (int k = graph.starts[i]; k < graph.starts[i + 1]; ++k)
      entries.emplace_back(graph.neighbours[k], i, 1);
  }
  Eigen::SparseMatrix<char> matrix(n, n);
  matrix.setFromTriplets(entries.begin(), entries.end());
  Eigen::AMDOrdering<int>::PermutationType order;
  Eigen::AMDOrdering<int>()(matrix, order);
  return {order.indices().begin(), order.indices().end()};
}

// Follows the path from an earlier neighbour of a node to the node: its row of the factor has an
// entry in each column on the way. If the path ends before the node, the node becomes the parent.
// Calls add(column) for each column that had no entry in this row. `visited_for` has the last node
// whose row has an entry in each column; −1: not eliminated yet.
template <typename Add>
void FollowPath(int neighbour, int node, std::vector<int>* parents, std::vector<int>* visited_for,
                const Add& add) {
  if ((*visited_for)[neighbour] < 0) return;
  for (int at = neighbour; (*visited_for)[at] != node; at = (*parents)[at]) {
    if ((*parents)[at] < 0) (*parents)[at] = node;
    (*visited_for)[at] = node;
    add(at);
  }
}

EliminationTree FindTree(const std::vector<std::vector<int>>& adjacency,
                         const std::vector<int>& order) {
  const std::size_t n = order.size();
  EliminationTree tree{std::vector<int>(n, -1), std::vector<int>(n, 0)};
  std::vector<int> visited_for(n, -1);
  for (const int node : order) {
    visited_for[node] = node;
    for (const int neighbour : adjacency[node])
      FollowPath(neighbour, node, &tree.parents, &visited_for,
                 [&](int at) { ++tree.num_rows[at]; });
  }
  return tree;
}

// Operations of a factorisation, up to a constant and lower orders: the sum of the squared heights
// of its columns.
double CountOperations(const std::vector<std::vector<int>>& adjacency,
                       const std::vector<int>& order) {
  double sum = 0;
  for (const int rows : FindTree(adjacency, order).num_rows)
    sum += static_cast<double>(rows) * static_cast<double>(rows);
  return sum;
}

}  // namespace

std::vector<std::vector<int>> MakeAdjacency(const BlockPattern& pattern) {
  std::vector<std::vector<int>> adjacency(pattern.num_nodes);
  for (int j = 0; j < pattern.num_nodes; ++j) {
    for (int k = pattern.column_starts[j] + 1; k < pattern.column_starts[j + 1]; ++k) {
      adjacency[j].push_back(pattern.rows[k]);
      adjacency[pattern.rows[k]].push_back(j);
    }
  }
  for (std::vector<int>& list : adjacency) std::sort(list.begin(), list.end());
  return adjacency;
}

std::vector<int> FindEliminationOrder(const BlockPattern& pattern) {
  const auto adjacency = MakeAdjacency(pattern);
  const Graph graph = MakeGraph(adjacency);
  if (graph.neighbours.empty()) {
    std::vector<int> order(pattern.num_nodes);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  if (pattern.num_nodes >= kManyNodes) return DissectNested(graph, kEqualHalves, 1);
  // the heuristic starts randomly, so take the best of several
  std::vector<int> best;
  double fewest = std::numeric_limits<double>::infinity();
  for (int seed = 1; seed <= kSeeds; ++seed) {
    for (const Dissection& dissection : kDissections) {
      std::vector<int> order = DissectNested(graph, dissection, seed);
      const double operations = CountOperations(adjacency, order);
      if (operations >= fewest) continue;
      fewest = operations;
      best = std::move(order);
    }
  }
  return best;
}

std::vector<int> ReduceOperations(const BlockPattern& pattern, const std::vector<int>& order) {
  const auto adjacency = MakeAdjacency(pattern);
  std::vector<int> other = FindMinimumDegreeOrder(MakeGraph(adjacency));
  return CountOperations(adjacency, other) < CountOperations(adjacency, order) ? other : order;
}

EliminationTree FindEliminationTree(const BlockPattern& pattern, const std::vector<int>& order) {
  return FindTree(MakeAdjacency(pattern), order);
}

void OperationCounter::SetPattern(const BlockPattern* pattern) {
  pattern_ = pattern;
  const std::size_t n = pattern->num_nodes;
  const auto for_each_pair = [&](const auto& visit) {
    for (std::size_t j = 0; j < n; ++j)
      for (int k = pattern->column_starts[j] + 1; k < pattern->column_starts[j + 1]; ++k)
        visit(static_cast<int>(j), pattern->rows[k]);
  };
  // each list begins where the one before will end
  starts_.assign(n + 2, 0);
  int* ends = starts_.data() + 1;
  for_each_pair([&](int, int i) { ++ends[i + 1]; });
  for (std::size_t i = 0; i < n; ++i) ends[i + 1] += ends[i];
  lower_.resize(ends[n]);
  for_each_pair([&](int j, int i) { lower_[ends[i]++] = j; });
}

double OperationCounter::Count(std::span<const int> order, double limit) {
  parents_.assign(order.size(), -1);
  visited_for_.assign(order.size(), -1);
  num_rows_.assign(order.size(), 0);
  double operations = 0;
  for (const int node : order) {
    visited_for_[node] = node;
    const auto follow = [&](std::span<const int> neighbours) {
      for (const int neighbour : neighbours) {
        // from 3 (3 m + 3)² operations of a column of m blocks to 3 (3 m + 6)²
        FollowPath(neighbour, node, &parents_, &visited_for_,
                   [&](int at) { operations += 27 * (2 * ++num_rows_[at] + 1); });
      }
    };
    follow(lower_neighbours(node));
    const int first = pattern_->column_starts[node] + 1;
    follow(std::span(pattern_->rows).subspan(first, pattern_->column_starts[node + 1] - first));
    if (operations > limit) break;
  }
  return operations;
}

bool TakesMoreOperations(const BlockPattern& pattern, std::span<const int> order, double limit) {
  // full columns may be few enough
  const double full = 3 * static_cast<double>(order.size());
  if (full * full * full / 3 <= limit) return false;
  OperationCounter counter;
  counter.SetPattern(&pattern);
  return counter.Count(order, limit) > limit;
}

void AddAncestors(const std::vector<int>& parents, std::vector<char>* marks,
                  std::vector<int>* nodes) {
  std::vector<char>& is_in = *marks;
  is_in.assign(parents.size(), 0);
  for (const int node : *nodes)
    for (int at = node; at >= 0 && !is_in[at]; at = parents[at]) is_in[at] = 1;
  nodes->clear();
  for (std::size_t i = 0; i < parents.size(); ++i)
    if (is_in[i]) nodes->push_back(static_cast<int>(i));
}

}  // namespace pliant::solvers
