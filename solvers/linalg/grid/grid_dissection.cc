#include "solvers/linalg/grid/grid_dissection.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

namespace pliant::solvers {
namespace {

// Parts with more nodes are divided. More than 3³ nodes have a separator.
constexpr std::size_t kMaxUndivided = 64;

// Up to this ratio of the approximate operations of a sweep to those of nested dissection, the
// sweep is counted too: the approximation is up to a half too high.
constexpr double kMaxSweep = 1.6;

// Number of blocks per node below which nodes count as scattered: a compact body has up to 63.
constexpr int kMaxScattered = 34;
// Nodes up to which minimum degree takes less time than it saves; it grows with their square.
constexpr std::size_t kMaxByDegree = 4096;

// Thickness of separators: nodes couple up to two layers apart.
constexpr int kLayers = 2;

}  // namespace

std::span<const int> GridDissection::FindOrder(std::span<const GridPoint> nodes,
                                               const BlockPattern& pattern, double limit) {
  nodes_ = nodes;
  pattern_ = &pattern;
  counter_.SetPattern(&pattern);
  order_.resize(nodes.size());
  std::iota(order_.begin(), order_.end(), 0);
  number_of_.assign(nodes.size(), -1);
  Dissect(0, static_cast<int>(nodes.size()));
  operations_ = counter_.Count(order_, limit);
  if (nodes.size() <= kMaxUndivided) return order_;
  if (FindSweep() < kMaxSweep * operations_) Consider();
  const bool is_scattered = pattern.num_blocks() < kMaxScattered * pattern.num_nodes;
  if (is_scattered && nodes.size() <= kMaxByDegree) {
    other_order_.resize(nodes.size());
    std::iota(other_order_.begin(), other_order_.end(), 0);
    OrderByDegree(other_order_);
    Consider();
  }
  return order_;
}

// Takes the other order if it needs fewer operations.
void GridDissection::Consider() {
  const double operations = counter_.Count(other_order_, operations_);
  if (operations >= operations_) return;
  operations_ = operations;
  order_.swap(other_order_);
}

// Finds the axis along which a sweep takes the fewest operations, as `other_order_`, and returns
// their approximate number. The middle has half of the nodes on either side.
double GridDissection::FindSweep() {
  double fewest = std::numeric_limits<double>::infinity();
  int axis = 0;
  for (int a = 0; a < 3; ++a) {
    CountLayers(order_, a);
    // a layer is eliminated with the two that follow
    double operations = 0;
    for (std::size_t k = 0; k < layer_sizes_.size(); ++k) {
      double rows = 0.5 * static_cast<double>(layer_sizes_[k]);
      for (std::size_t next = k + 1; next <= k + kLayers && next < layer_sizes_.size(); ++next)
        rows += layer_sizes_[next];
      operations += 27 * layer_sizes_[k] * rows * rows;
    }
    if (operations >= fewest) continue;
    fewest = operations;
    axis = a;
  }
  const auto coordinate = [&](int node) { return nodes_[node][axis]; };
  other_order_.resize(nodes_.size());
  std::iota(other_order_.begin(), other_order_.end(), 0);
  const auto middle = other_order_.begin() + static_cast<std::ptrdiff_t>(nodes_.size() / 2);
  std::ranges::nth_element(other_order_, middle, {}, coordinate);
  const int half = coordinate(*middle);
  // 0: below the middle, ascending; 1: beyond it, descending; 2: in it
  const auto place = [&](int node) {
    const int x = coordinate(node);
    if (x < half) return std::pair(0, std::int64_t{x});
    return x < half + kLayers ? std::pair(2, std::int64_t{0}) : std::pair(1, -std::int64_t{x});
  };
  // nodes of a layer stay in their order
  std::ranges::sort(other_order_, [&](int a, int b) {
    const auto at_a = place(a), at_b = place(b);
    return at_a != at_b ? at_a < at_b : a < b;
  });
  return fewest;
}

// Orders the nodes order_[begin, end): those on either side of a separator, then the separator.
void GridDissection::Dissect(int begin, int end) {
  const std::span<int> part = std::span(order_).subspan(begin, end - begin);
  if (part.size() <= kMaxUndivided) return OrderByDegree(part);
  const Separator separator = FindSeparator(part);
  // keeps the order within each of the three parts, for locality
  const auto coordinate = [&](int node) { return nodes_[node][separator.axis]; };
  others_.clear();
  int behind = begin;
  for (const int node : part) {
    if (coordinate(node) < separator.begin) {
      order_[behind++] = node;
    } else {
      others_.push_back(node);
    }
  }
  int in_separator = behind;
  for (const int node : others_)
    if (coordinate(node) >= separator.end) order_[in_separator++] = node;
  int at = in_separator;
  for (const int node : others_)
    if (coordinate(node) < separator.end) order_[at++] = node;
  Dissect(begin, behind);
  Dissect(behind, in_separator);
}

// Counts the nodes of a part in each of its layers along an axis.
GridDissection::Layers GridDissection::CountLayers(std::span<const int> part, int axis) {
  int lower = nodes_[part[0]][axis], upper = lower;
  for (const int node : part) {
    lower = std::min(lower, nodes_[node][axis]);
    upper = std::max(upper, nodes_[node][axis]);
  }
  // if a part extends far, a layer is wider than a separator
  const std::int64_t first = lower, extent = upper - first + 1;
  const std::int64_t width = 1 + extent / (4 * static_cast<std::int64_t>(part.size()));
  layer_sizes_.assign((extent - 1) / width + 1, 0);
  for (const int node : part) ++layer_sizes_[(nodes_[node][axis] - first) / width];
  return {first, width};
}

// Finds the separator with the fewest nodes relative to the product of the numbers on either side.
GridDissection::Separator GridDissection::FindSeparator(std::span<const int> part) {
  const auto n = static_cast<std::int64_t>(part.size());
  Separator best{};
  double lowest = std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis) {
    const Layers layers = CountLayers(part, axis);
    const int count = static_cast<int>(layer_sizes_.size()),
              steps = layers.width == 1 ? kLayers : 1;
    std::int64_t before = layer_sizes_[0];
    for (int k = 1; k + steps < count; ++k) {
      std::int64_t size = 0;
      for (int s = 0; s < steps; ++s) size += layer_sizes_[k + s];
      const std::int64_t after = n - before - size;
      const double cost = static_cast<double>(size + 1) /
                          (static_cast<double>(before) * static_cast<double>(after));
      if (cost < lowest) {
        lowest = cost;
        best = {axis, layers.first + k * layers.width, layers.first + (k + steps) * layers.width};
      }
      before += layer_sizes_[k];
    }
  }
  return best;
}

template <typename Visit>
void GridDissection::VisitNeighbours(int node, const Visit& visit) const {
  for (const int lower : counter_.lower_neighbours(node)) visit(lower);
  for (int k = pattern_->column_starts[node] + 1; k < pattern_->column_starts[node + 1]; ++k)
    visit(pattern_->rows[k]);
}

// Eliminates the node with the fewest neighbours first. Neighbours outside the part are in
// separators, which are eliminated later.
void GridDissection::OrderByDegree(std::span<int> part) {
  const int n = static_cast<int>(part.size());
  numbered_.assign(part.begin(), part.end());
  for (int k = 0; k < n; ++k) number_of_[part[k]] = k;
  for (const int node : part) {
    VisitNeighbours(node, [this](int neighbour) {
      if (number_of_[neighbour] >= 0) return;
      number_of_[neighbour] = static_cast<int>(numbered_.size());
      numbered_.push_back(neighbour);
    });
  }
  const std::size_t words = numbered_.size() / 64 + 1;
  bits_.assign(n * words, 0);
  const auto row = [&](int k) { return std::span(bits_).subspan(k * words, words); };
  const auto bit = [](int k) { return std::uint64_t{1} << (k % 64); };
  degrees_.resize(n);
  remaining_.resize(n);
  for (int k = 0; k < n; ++k) {
    const std::span<std::uint64_t> neighbours = row(k);
    neighbours[k / 64] |= bit(k);
    VisitNeighbours(part[k], [&](int neighbour) {
      neighbours[number_of_[neighbour] / 64] |= bit(number_of_[neighbour]);
    });
    degrees_[k] = 0;
    for (const std::uint64_t word : neighbours) degrees_[k] += std::popcount(word);
    remaining_[k] = k;
  }
  for (int at = 0; at < n; ++at) {
    const auto next =
        std::ranges::min_element(remaining_, {}, [this](int k) { return degrees_[k]; });
    const int eliminated = *next;
    remaining_.erase(next);
    part[at] = numbered_[eliminated];
    // elimination couples the neighbours
    const std::span<std::uint64_t> neighbours = row(eliminated);
    neighbours[eliminated / 64] &= ~bit(eliminated);
    for (const int k : remaining_) {
      if ((neighbours[k / 64] & bit(k)) == 0) continue;
      const std::span<std::uint64_t> theirs = row(k);
      theirs[eliminated / 64] &= ~bit(eliminated);
      degrees_[k] = 0;
      for (std::size_t w = 0; w < words; ++w) {
        theirs[w] |= neighbours[w];
        degrees_[k] += std::popcount(theirs[w]);
      }
    }
  }
  for (const int node : numbered_) number_of_[node] = -1;
}

}  // namespace pliant::solvers
