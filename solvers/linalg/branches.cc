#include "solvers/linalg/branches.h"

#include <algorithm>

#include "solvers/linalg/parallel.h"

namespace pliant::solvers {
namespace {

// what a part has of all the work, about: enough of them for threads to end together; and what is worth a part
constexpr double kShare = 1.0 / 32, kLeast = 1.0 / 4;

}  // namespace

void Branches::Find(std::span<const int> parents, std::span<const double> work, double little) {
  const int n = static_cast<int>(parents.size());
  parts_.clear();
  below_.clear();
  sums_.assign(1, 0.0);
  for (const double one : work) sums_.push_back(sums_.back() + one);
  first_.resize(n);
  for (int k = 0; k < n; ++k) first_[k] = k;
  for (int k = 0; k < n; ++k)
    if (parents[k] >= 0) first_[parents[k]] = std::min(first_[parents[k]], first_[k]);
  grain_ = kShare * sums_.back();
  if (sums_.back() <= little) {
    Add(0, n, {});
  } else {
    Divide(0, n);
  }
}

int Branches::Add(int begin, int end, std::span<const int> below) {
  const int first = static_cast<int>(below_.size());
  below_.insert(below_.end(), below.begin(), below.end());
  parts_.push_back({begin, end, first, static_cast<int>(below.size())});
  return static_cast<int>(parts_.size()) - 1;
}

int Branches::Divide(int begin, int end) {
  std::vector<int> below, roots;
  // down from the roots: while one tree has the weight, its root is taken off and what hangs beside it put aside
  int b = begin, e = end;
  while (CountWork(b, e) > grain_) {
    roots.clear();
    for (int root = e - 1; root >= b; root = first_[root] - 1) roots.push_back(root);
    std::reverse(roots.begin(), roots.end());
    const auto is_heavy = [this](int root) { return CountWork(first_[root], root + 1) > grain_; };
    const auto heavy = std::count_if(roots.begin(), roots.end(), is_heavy);
    // light trees side by side make up a part
    int light_begin = b, light_end = b, next = -1;
    const auto put_aside = [&] {
      if (CountWork(light_begin, light_end) >= kLeast * grain_)
        below.push_back(Add(light_begin, light_end, {}));
      light_begin = light_end;
    };
    for (const int root : roots) {
      if (is_heavy(root)) {
        put_aside();
        if (heavy > 1) {
          below.push_back(Divide(first_[root], root + 1));
        } else {
          next = root;
        }
        light_begin = light_end = root + 1;
      } else {
        light_end = root + 1;
        if (CountWork(light_begin, light_end) >= grain_) put_aside();
      }
    }
    put_aside();
    if (next < 0) break;
    b = first_[next];
    e = next;
  }
  // what is left of it is light
  if (!below.empty() && CountWork(b, e) <= grain_ && CountWork(b, e) >= kLeast * grain_)
    below.push_back(Add(b, e, {}));
  std::sort(below.begin(), below.end(),
            [this](int x, int y) { return parts_[x].begin < parts_[y].begin; });
  return Add(begin, end, below);
}

void Branches::VisitUp(const Part& part, Visit f) const {
  VisitBelow(part, [&](const Part& other) { VisitUp(other, f); });
  f(part);
}

void Branches::VisitDown(const Part& part, Visit f) const {
  f(part);
  VisitBelow(part, [&](const Part& other) { VisitDown(other, f); });
}

void Branches::VisitBelow(const Part& part, Visit f) const {
  if (part.num_below == 0) return;
  ParallelForWithin(part.num_below, 1, [&](int i) { f(parts_[below(part)[i]]); });
}

}  // namespace pliant::solvers
