#pragma once

#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace pliant::solvers {

// Items grouped by number, such as those of a panel of a matrix; items of a group keep their order.
// Keeps its memory.
template <typename T>
class ByGroup {
 public:
  void Start() { given_.clear(); }
  void Add(int group, const T& item) { given_.emplace_back(group, item); }
  void Sort(int num_groups) {
    ends_.assign(num_groups + 1, 0);
    for (const auto& [group, item] : given_) ++ends_[group + 1];
    std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
    sorted_.resize(given_.size());
    for (const auto& [group, item] : given_) sorted_[ends_[group]++] = item;
  }
  std::span<const T> of(int group) const {
    // Sort() has advanced the start of each group to its end
    const int begin = group == 0 ? 0 : ends_[group - 1];
    return std::span(sorted_).subspan(begin, ends_[group] - begin);
  }

 private:
  std::vector<std::pair<int, T>> given_;
  std::vector<T> sorted_;
  std::vector<int> ends_;
};

}  // namespace pliant::solvers
