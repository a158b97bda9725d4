#include "solvers/linalg/lu/grouped_pattern.h"

#include <algorithm>
#include <numeric>

#include "solvers/linalg/elimination_order.h"

namespace pliant::solvers {
namespace {

// Number of nodes up to which the order does not matter.
constexpr int kMaxUnordered = 12;

}  // namespace

void GroupedPattern::Set(const BlockSum& A) {
  const bool is_known =
      A.size == size_ && A.num_last == num_last_ && A.num_lasting == num_lasting_ &&
      A.group_starts == starts_ &&
      std::ranges::equal(A.entries, places_, [](const BlockSum::Entry& entry, const auto& place) {
        return entry.row == place.first && entry.column == place.second;
      });
  if (is_known) return;
  ++version_;
  size_ = A.size;
  num_last_ = A.num_last;
  num_lasting_ = A.num_lasting;
  starts_ = A.group_starts;
  places_.clear();
  places_.reserve(A.entries.size());
  for (const BlockSum::Entry& entry : A.entries) places_.emplace_back(entry.row, entry.column);

  slot_.resize(size_);
  padding_.clear();
  int nodes = 0;
  for (std::size_t r = 0; r < starts_.size(); ++r) {
    const int begin = starts_[r], end = r + 1 < starts_.size() ? starts_[r + 1] : size_;
    for (int i = begin; i < end; ++i) slot_[i] = 3 * nodes + (i - begin);
    const int count = (end - begin + 2) / 3;
    for (int slot = 3 * nodes + (end - begin); slot < 3 * (nodes + count); ++slot)
      padding_.push_back(slot);
    nodes += count;
  }
  pattern_.num_nodes = nodes;
  pattern_ = MakePattern(A.entries);
  FindOrder(A);
}

BlockPattern GroupedPattern::MakePattern(std::span<const BlockSum::Entry> entries) const {
  const int nodes = pattern_.num_nodes;
  std::vector<std::pair<int, int>> pairs;  // column, row
  for (int i = 0; i < nodes; ++i) pairs.emplace_back(i, i);
  for (const BlockSum::Entry& entry : entries) {
    const std::pair<int, int> pair = std::minmax({slot_[entry.row] / 3, slot_[entry.column] / 3});
    if (pair != pairs.back()) pairs.push_back(pair);
  }
  std::ranges::sort(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  BlockPattern pattern;
  pattern.num_nodes = nodes;
  pattern.column_starts.assign(nodes + 1, 0);
  pattern.rows.reserve(pairs.size());
  for (const auto& [column, row] : pairs) {
    ++pattern.column_starts[column + 1];
    pattern.rows.push_back(row);
  }
  for (int i = 0; i < nodes; ++i) pattern.column_starts[i + 1] += pattern.column_starts[i];
  return pattern;
}

void GroupedPattern::FindOrder(const BlockSum& A) {
  const int nodes = pattern_.num_nodes;
  const std::size_t count = num_lasting_ > 0 ? num_lasting_ : places_.size();
  const std::span places = std::span(places_).first(count);
  if (static_cast<int>(order_.size()) == nodes && starts_ == ordered_starts_ &&
      std::ranges::equal(places, ordered_places_))
    return;
  ordered_places_.assign(places.begin(), places.end());
  ordered_starts_ = starts_;
  if (nodes <= kMaxUnordered) {
    order_.resize(nodes);
    std::iota(order_.begin(), order_.end(), 0);
    return;
  }
  order_ = FindEliminationOrder(MakePattern(std::span(A.entries).first(count)));
}

}  // namespace pliant::solvers
