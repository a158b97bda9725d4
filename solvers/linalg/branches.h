#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"

namespace pliant::solvers {

// Splits a forest into parts that may be processed in parallel when a node depends on its children:
// disjoint ranges of the postorder, each with all descendants of its nodes, of about the same work.
// The nodes above several of these form a part of their own, which waits for them and is not
// divided further. Depends on the forest and the work alone, never on the threads.
class Branches {
 public:
  struct Part {
    int begin, end;              // nodes, including those of the parts below
    int first_below, num_below;  // parts
    int above;                   // −1 for the last part
  };

  // `parents` and `work` are per node; a parent comes after its children, −1: none. Makes a single
  // part when the total work is at most `little`.
  void Find(std::span<const int> parents, std::span<const double> work, double little);

  // The last part contains the whole forest.
  std::span<const Part> parts() const { return parts_; }
  std::span<const int> below(const Part& part) const {
    return std::span(below_).subspan(part.first_below, part.num_below);
  }
  // Calls f(node), ascending or descending, for a part's nodes that are in no part below it.
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

  // Calls f(part) for all parts, in parallel where possible: after the parts below it, or before
  // them. Only one visit may run at a time.
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
  mutable std::vector<std::atomic<int>> pending_;  // progress of a visit, by part
  std::vector<int> first_;                         // first node of each node's subtree
  std::vector<double> sums_;                       // of the work of the nodes before each
  std::vector<int> found_, roots_;                 // stacks of Divide: parts below, roots of trees
  double grain_ = 0;
};

}  // namespace pliant::solvers
