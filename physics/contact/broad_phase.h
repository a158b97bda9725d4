#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "physics/geometry/shape.h"

namespace pliant::physics {

// Pairs (i, j), i < j, of overlapping boxes, ascending. Sweep and prune along the axis in which the
// boxes spread most, in strips across the second; the cost grows with the boxes and the pairs.
// Boxes too long for sweeping to separate (half-spaces, floors) are tested against all. Empty boxes
// overlap nothing. Cached data change no result.
class BroadPhase {
 public:
  // Searches give up beyond `max_pairs`: the pairs of boxes that all overlap grow with the square
  // of their number.
  explicit BroadPhase(std::size_t max_pairs = std::numeric_limits<std::size_t>::max())
      : max_pairs_(max_pairs) {}

  std::size_t max_pairs() const { return max_pairs_; }
  // True if the last search gave up; its result is incomplete then.
  bool gave_up() const { return gave_up_; }

  const std::vector<std::pair<int, int>>& FindOverlaps(std::span<const AxisAlignedBox> boxes);
  // As above for boxes in groups that move together: group g begins at starts[g]; the last entry is
  // the number of boxes.
  const std::vector<std::pair<int, int>>& FindOverlaps(std::span<const AxisAlignedBox> boxes,
                                                       std::span<const int> starts);
  // As above, but only pairs of which at least one box is chosen.
  const std::vector<std::pair<int, int>>& FindOverlapsOf(std::span<const char> is_chosen,
                                                         std::span<const AxisAlignedBox> boxes,
                                                         std::span<const int> starts);

 private:
  // Boxes in SIMD columns, padded with empty ones: one bound of four boxes per register.
  class Columns {
   public:
    // Allocates `count` boxes, each of which must be set.
    void Start(int count);
    void Set(int k, const AxisAlignedBox& box) {
      double* bounds = bounds_.data() + k;
      for (int r = 0; r < 3; ++r) {
        bounds[r * stride_] = box.lower[r];
        bounds[(3 + r) * stride_] = box.upper[r];
      }
    }
    // Calls f(k), first ≤ k < end, for boxes that overlap `box`, ascending. Boxes are sorted along
    // `axis`: stops when four in a row begin beyond the upper end of `box`. −1: unsorted.
    template <typename F>
    void ForEachOverlap(const AxisAlignedBox& box, int first, int end, int axis, const F& f) const;

   private:
    int count_ = 0;
    std::size_t stride_ = 0;
    std::vector<double> bounds_;  // lower x, y, z, upper x, y, z of all
  };
  struct Start {
    double lower;
    int box;
    auto operator<=>(const Start&) const = default;
  };

  void Order(std::span<const AxisAlignedBox> boxes, int axis);
  void Sweep(std::span<const AxisAlignedBox> boxes, int axis, int across);
  void FindAmong(std::span<const AxisAlignedBox> boxes);
  // True if the search shall give up. Checked after each box, which adds at most as many pairs as
  // there are boxes.
  bool GivesUp() { return gave_up_ = gave_up_ || found_.size() > max_pairs_; }
  // Sorts found_ into pairs_, ascending.
  void SortPairs(int num_boxes);

  std::size_t max_pairs_;
  bool gave_up_ = false;
  std::vector<Start> order_;    // swept boxes, ascending
  std::vector<char> is_swept_;  // per box
  std::vector<int> long_;
  Columns all_, of_strip_;
  std::vector<AxisAlignedBox> groups_;
  std::vector<int> strip_starts_, strip_items_;  // items are boxes
  std::vector<std::pair<int, int>> found_, pairs_;
  std::vector<int> pair_starts_;
};

}  // namespace pliant::physics
