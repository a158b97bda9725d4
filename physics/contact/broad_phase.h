#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "physics/geometry/shape.h"

namespace pliant::physics {

// Pairs (i, j), i < j, of boxes that overlap, ascending. Sweeps along that of x, y, z over which
// the boxes spread most, in strips across the second: its cost grows with the boxes and the pairs.
// Boxes so long that sweeping would not part them (half-spaces, floors) are tested against all.
// Empty boxes meet none. What it keeps between calls changes no result.
class BroadPhase {
 public:
  const std::vector<std::pair<int, int>>& FindOverlaps(std::span<const AxisAlignedBox> boxes);
  // The same of boxes that move together by groups: those of group g begin at starts[g], the last
  // start is their number.
  const std::vector<std::pair<int, int>>& FindOverlaps(std::span<const AxisAlignedBox> boxes,
                                                       std::span<const int> starts);
  // Of the latter those of which one box at least is chosen.
  const std::vector<std::pair<int, int>>& FindOverlapsOf(std::span<const char> is_chosen,
                                                         std::span<const AxisAlignedBox> boxes,
                                                         std::span<const int> starts);

 private:
  // Boxes side by side, filled up with empty ones: one bound of four in a register.
  class Columns {
   public:
    // Room for `count` boxes, each of which is to be set.
    void Start(int count);
    void Set(int k, const AxisAlignedBox& box) {
      double* bounds = bounds_.data() + k;
      for (int r = 0; r < 3; ++r) {
        bounds[r * stride_] = box.lower[r];
        bounds[(3 + r) * stride_] = box.upper[r];
      }
    }
    // Calls f(k) for first ≤ k < end of boxes that overlap `box`, ascending; once none of four
    // begins below the upper end along `axis` the others count as beyond, unless it is −1.
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
  // From found_ to pairs_, ascending.
  void SortPairs(int num_boxes);

  std::vector<Start> order_;    // ascending, of those that are swept
  std::vector<char> is_swept_;  // per box
  std::vector<int> long_;
  Columns all_, of_strip_;
  std::vector<AxisAlignedBox> groups_;
  std::vector<int> strip_starts_, strip_items_;  // the latter in order_
  std::vector<std::pair<int, int>> found_, pairs_;
  std::vector<int> pair_starts_;
};

}  // namespace pliant::physics
