#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"

namespace pliant::solvers {

// Which parts of a forest may be worked on at the same time, when a node waits for its children:
// disjoint stretches of the postorder, each with all that lies below its nodes, of about the same
// work. What is above several of them is a part of its own, that waits for these and divides no
// further. A function of the forest and the work alone, never of the threads.
class Branches {
 public:
  struct Part {
    int begin, end;              // nodes, those of the parts below included
    int first_below, num_below;  // parts
    int above;                   // −1: it is the last one
  };

  // Of each node its parent, that comes after it, −1 for none; and its work. One part when `little`
  // is not exceeded.
  void Find(std::span<const int> parents, std::span<const double> work, double little);

  // The last one is all of it.
  std::span<const Part> parts() const { return parts_; }
  std::span<const int> below(const Part& part) const {
    return std::span(below_).subspan(part.first_below, part.num_below);
  }
  // f(node), ascending or descending, of a part's nodes that are in none below it.
  template <typename F>
  void ForOwn(const Part& part, const F& f) const {
    int node = part.begin;
    for (const int b : below(part)) {
      for (; node < parts_[b].begin; ++node) f(node);
      node = parts_[b].end;
    }
    for (; node < part.end; ++node) f(node);
  }
  template <typename F>
  void ForOwnBackward(const Part& part, const F& f) const {
    int node = part.end - 1;
    const std::span<const int> parts = below(part);
    for (auto b = parts.rbegin(); b != parts.rend(); ++b) {
      for (; node >= parts_[*b].end; --node) f(node);
      node = parts_[*b].begin - 1;
    }
    for (; node >= part.begin; --node) f(node);
  }

  // f(part) of all parts, at the same time where they allow it: after those below it, or before
  // them. One visit at a time.
  using Visit = absl::FunctionRef<void(const Part&)>;
  void VisitUp(Visit f) const;
  void VisitDown(Visit f) const;

 private:
  void Reach(int part, Visit f) const;
  int Divide(int begin, int end);
  int Add(int begin, int end, std::span<const int> below);
  double CountWork(int begin, int end) const { return sums_[end] - sums_[begin]; }

  std::vector<Part> parts_;
  std::vector<int> below_;
  std::vector<int> lowest_;                        // parts with none below
  mutable std::vector<std::atomic<int>> pending_;  // of each part, where a visit stands
  std::vector<int> first_;                         // of each node's subtree
  std::vector<double> sums_;                       // of the work of the nodes before each
  double grain_ = 0;
};

}  // namespace pliant::solvers
