#include "solvers/linalg/branches.h"

#include <algorithm>
#include <thread>

#include "solvers/linalg/parallel.h"

namespace pliant::solvers {
namespace {

// Approximate share of the work per part, small enough for threads to finish together, and the
// smallest fraction of that share that makes a part.
constexpr double kShare = 1.0 / 64, kMinShare = 1.0 / 4;

// State of a part in VisitDown.
enum : int { kToCome, kAtWork, kDone };

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
  lowest_.clear();
  for (int p = 0; p < static_cast<int>(parts_.size()); ++p) {
    if (parts_[p].num_below == 0) lowest_.push_back(p);
    for (const int b : below(parts_[p])) parts_[b].above = p;
  }
  // a vector of atomics cannot grow in place
  if (pending_.size() < parts_.size())
    pending_ = std::vector<std::atomic<int>>(parts_.size() + parts_.size() / 4);
}

int Branches::Add(int begin, int end, std::span<const int> below) {
  const int first = static_cast<int>(below_.size());
  below_.insert(below_.end(), below.begin(), below.end());
  parts_.push_back({begin, end, first, static_cast<int>(below.size()), -1});
  return static_cast<int>(parts_.size()) - 1;
}

int Branches::Divide(int begin, int end) {
  // entries of this call are at the ends of the stacks
  const std::size_t first_found = found_.size(), first_root = roots_.size();
  // descend from the roots: while a single tree is heavy, set aside the light trees and remove its
  // root
  int b = begin, e = end;
  while (CountWork(b, e) > grain_) {
    roots_.resize(first_root);
    for (int root = e - 1; root >= b; root = first_[root] - 1) roots_.push_back(root);
    const auto own_roots = std::span(roots_).subspan(first_root);
    std::reverse(own_roots.begin(), own_roots.end());
    const auto is_heavy = [this](int root) { return CountWork(first_[root], root + 1) > grain_; };
    const auto heavy = std::count_if(own_roots.begin(), own_roots.end(), is_heavy);
    // adjacent light trees form a part
    int light_begin = b, light_end = b, next = -1;
    const auto put_aside = [&] {
      if (CountWork(light_begin, light_end) >= kMinShare * grain_)
        found_.push_back(Add(light_begin, light_end, {}));
      light_begin = light_end;
    };
    const std::size_t end_of_roots = roots_.size();
    for (std::size_t r = first_root; r < end_of_roots; ++r) {
      const int root = roots_[r];
      if (is_heavy(root)) {
        put_aside();
        if (heavy > 1) {
          const int part = Divide(first_[root], root + 1);
          found_.push_back(part);
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
  // a light remainder forms a part too
  if (found_.size() > first_found && CountWork(b, e) <= grain_ &&
      CountWork(b, e) >= kMinShare * grain_)
    found_.push_back(Add(b, e, {}));
  const auto below = std::span(found_).subspan(first_found);
  std::ranges::sort(below, {}, [this](int part) { return parts_[part].begin; });
  const int part = Add(begin, end, below);
  found_.resize(first_found);
  roots_.resize(first_root);
  return part;
}

// The thread that finishes the last part below another one continues with that one, so no thread
// waits before the end. The last part runs alone and may use all threads itself.
void Branches::VisitUp(Visit f) const {
  for (std::size_t p = 0; p < parts_.size(); ++p)
    pending_[p].store(parts_[p].num_below, std::memory_order_relaxed);
  const int last = static_cast<int>(parts_.size()) - 1;
  ParallelForWithin(static_cast<int>(lowest_.size()), 1, [&](int k) {
    for (int p = lowest_[k]; p != last;) {
      f(parts_[p]);
      p = parts_[p].above;
      if (pending_[p].fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    }
  });
  f(parts_[last]);
}

void Branches::VisitDown(Visit f) const {
  for (std::atomic<int>& state : pending_) state.store(kToCome, std::memory_order_relaxed);
  const int last = static_cast<int>(parts_.size()) - 1;
  f(parts_[last]);
  pending_[last].store(kDone, std::memory_order_relaxed);
  ParallelForWithin(static_cast<int>(lowest_.size()), 1, [&](int k) { Reach(lowest_[k], f); });
}

// Visits a part after all those above it, or waits for the thread that does. The wait is short,
// because the parts above have little work.
void Branches::Reach(int part, Visit f) const {
  std::atomic<int>& state = pending_[part];
  if (state.load(std::memory_order_acquire) == kDone) return;
  Reach(parts_[part].above, f);
  int expected = kToCome;
  if (state.compare_exchange_strong(expected, kAtWork)) {
    f(parts_[part]);
    state.store(kDone, std::memory_order_release);
  }
  while (state.load(std::memory_order_acquire) != kDone) std::this_thread::yield();
}

}  // namespace pliant::solvers
