#include "solvers/linalg/grid/grid_dissection.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace pliant::solvers {
namespace {

// Parts with more nodes are divided. More than 3³ nodes have a separator.
constexpr int kMaxUndivided = 64;

// Thickness of separators: nodes couple up to two layers apart.
constexpr int kLayers = 2;

}  // namespace

std::span<const int> GridDissection::FindOrder(std::span<const GridPoint> nodes,
                                               const BlockPattern& pattern) {
  nodes_ = nodes;
  pattern_ = &pattern;
  order_.resize(nodes.size());
  std::iota(order_.begin(), order_.end(), 0);
  number_of_.assign(nodes.size(), -1);
  FindEarlierNeighbours();
  Dissect(0, static_cast<int>(nodes.size()));
  return order_;
}

void GridDissection::FindEarlierNeighbours() {
  const std::size_t n = nodes_.size();
  earlier_starts_.assign(n + 2, 0);
  // each list begins where the one before will end
  int* ends = earlier_starts_.data() + 1;
  for (std::size_t j = 0; j < n; ++j)
    for (int k = pattern_->column_starts[j] + 1; k < pattern_->column_starts[j + 1]; ++k)
      ++ends[pattern_->rows[k] + 1];
  for (std::size_t i = 0; i < n; ++i) ends[i + 1] += ends[i];
  earlier_.resize(ends[n]);
  for (std::size_t j = 0; j < n; ++j)
    for (int k = pattern_->column_starts[j] + 1; k < pattern_->column_starts[j + 1]; ++k)
      earlier_[ends[pattern_->rows[k]]++] = static_cast<int>(j);
}

// Orders the nodes order_[begin, end): those on either side of a separator, then the separator.
void GridDissection::Dissect(int begin, int end) {
  const std::span<int> part = std::span(order_).subspan(begin, end - begin);
  if (end - begin <= kMaxUndivided) return OrderByDegree(part);
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

// Finds the separator with the fewest nodes relative to the product of the numbers on either side.
GridDissection::Separator GridDissection::FindSeparator(std::span<const int> part) {
  const auto n = static_cast<std::int64_t>(part.size());
  GridPoint lower = nodes_[part[0]], upper = lower;
  for (const int node : part) {
    for (int axis = 0; axis < 3; ++axis) {
      lower[axis] = std::min(lower[axis], nodes_[node][axis]);
      upper[axis] = std::max(upper[axis], nodes_[node][axis]);
    }
  }
  Separator best{};
  double lowest = std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis) {
    // if a part extends far, a step is wider than a separator
    const std::int64_t first = lower[axis], extent = upper[axis] - first + 1;
    const std::int64_t width = 1 + extent / (4 * n);
    const int count = static_cast<int>((extent - 1) / width) + 1, steps = width == 1 ? kLayers : 1;
    layer_sizes_.assign(count, 0);
    for (const int node : part) ++layer_sizes_[(nodes_[node][axis] - first) / width];
    std::int64_t before = layer_sizes_[0];
    for (int k = 1; k + steps < count; ++k) {
      std::int64_t size = 0;
      for (int s = 0; s < steps; ++s) size += layer_sizes_[k + s];
      const std::int64_t after = n - before - size;
      const double cost = static_cast<double>(size + 1) /
                          (static_cast<double>(before) * static_cast<double>(after));
      if (cost < lowest) {
        lowest = cost;
        best = {axis, first + k * width, first + (k + steps) * width};
      }
      before += layer_sizes_[k];
    }
  }
  return best;
}

template <typename Visit>
void GridDissection::VisitNeighbours(int node, const Visit& visit) const {
  for (int k = earlier_starts_[node]; k < earlier_starts_[node + 1]; ++k) visit(earlier_[k]);
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
