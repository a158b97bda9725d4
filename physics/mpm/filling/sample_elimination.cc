#include "physics/mpm/filling/sample_elimination.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <queue>
#include <utility>

#include "physics/geometry/shape.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

// Points sorted by the cells of a grid, so that the neighbours of a point are in few consecutive
// ranges. The rank of a point is its place in this order.
class Neighborhoods {
 public:
  Neighborhoods(std::span<const Vector3d> points, double reach) : reach2_(reach * reach) {
    AxisAlignedBox bounds;
    for (const Vector3d& p : points) bounds.Include(p);
    // at most 2²⁰ cells along each axis, so that a cell index fits kBits
    const double cell =
        points.empty() ? reach : std::max(reach, (bounds.upper - bounds.lower).maxCoeff() / 0x1p20);
    const auto number = [&](const Vector3d& p) {
      std::int64_t result = 0;
      for (int i = 2; i >= 0; --i)
        result = (result << kBits) + 1 + static_cast<std::int64_t>((p[i] - bounds.lower[i]) / cell);
      return result;
    };
    std::vector<std::pair<std::int64_t, int>> sorted(points.size());
    for (std::size_t i = 0; i < points.size(); ++i)
      sorted[i] = {number(points[i]), static_cast<int>(i)};
    std::ranges::sort(sorted);

    for (std::size_t rank = 0; rank < sorted.size(); ++rank) {
      index_.push_back(sorted[rank].second);
      position_.push_back(points[sorted[rank].second]);
      if (rank == 0 || sorted[rank].first != sorted[rank - 1].first)
        ranges_.push_back(FindRanges(sorted, sorted[rank].first));
      cell_.push_back(static_cast<int>(ranges_.size()) - 1);
    }
  }

  int size() const { return static_cast<int>(index_.size()); }
  int index(int rank) const { return index_[rank]; }

  // Calls visit(rank, squared distance) for the other points within reach.
  template <typename Visit>
  void VisitNear(int rank, const Visit& visit) const {
    for (const auto& [begin, end] : ranges_[cell_[rank]]) {
      for (int other = begin; other < end; ++other) {
        const double distance2 = (position_[other] - position_[rank]).squaredNorm();
        if (distance2 < reach2_ && other != rank) visit(other, distance2);
      }
    }
  }

 private:
  static constexpr int kBits = 21;  // of a cell's number, per axis
  // ranks of the points in three cells in a row
  using Ranges = std::array<std::pair<int, int>, 9>;

  static Ranges FindRanges(const std::vector<std::pair<std::int64_t, int>>& sorted,
                           std::int64_t cell) {
    Ranges ranges;
    for (int row = 0; row < 9; ++row) {
      const std::int64_t middle =
          cell + ((std::int64_t{row / 3 - 1} * (1 << kBits) + (row % 3 - 1)) * (1 << kBits));
      const auto first = std::ranges::lower_bound(sorted, std::pair(middle - 1, 0));
      const auto last = std::ranges::lower_bound(sorted, std::pair(middle + 2, 0));
      ranges[row] = {static_cast<int>(first - sorted.begin()),
                     static_cast<int>(last - sorted.begin())};
    }
    return ranges;
  }

  double reach2_;
  std::vector<int> index_, cell_;
  std::vector<Vector3d> position_;
  std::vector<Ranges> ranges_;  // of each occupied cell
};

}  // namespace

std::vector<int> EliminateCrowded(std::span<const Vector3d> points, int num_fixed, int num_outside,
                                  int count, double reach) {
  const int end = static_cast<int>(points.size()) - num_outside;  // of the points to choose from
  const Neighborhoods near(points, reach);
  // weight of the paper, (1 − d / reach)⁸
  const auto crowding = [&](double distance2) {
    const double overlap = 1 - std::sqrt(distance2) / reach;
    const double square = overlap * overlap, fourth = square * square;
    return fourth * fourth;
  };
  std::vector<double> crowd(points.size(), 0.0);
  std::vector<char> is_kept(points.size(), 1);
  std::priority_queue<std::pair<double, int>> queue;
  for (int rank = 0; rank < near.size(); ++rank) {
    near.VisitNear(rank, [&](int, double distance2) { crowd[rank] += crowding(distance2); });
    if (near.index(rank) >= num_fixed) queue.emplace(crowd[rank], rank);
  }

  // crowding only decreases: an outdated entry is too large and is queued again
  int surplus = end - num_fixed - count;
  while (surplus > 0) {
    const auto [queued, rank] = queue.top();
    queue.pop();
    if (queued != crowd[rank]) {
      queue.emplace(crowd[rank], rank);
      continue;
    }
    is_kept[rank] = 0;
    near.VisitNear(rank, [&](int other, double distance2) { crowd[other] -= crowding(distance2); });
    surplus -= near.index(rank) < end;
  }

  std::vector<int> chosen;
  for (int rank = 0; rank < near.size(); ++rank)
    if (is_kept[rank] && near.index(rank) < end) chosen.push_back(near.index(rank));
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<int> KeepApart(std::span<const Vector3d> points, double distance) {
  const Neighborhoods near(points, distance);
  std::vector<int> ranks(points.size());
  for (int rank = 0; rank < near.size(); ++rank) ranks[near.index(rank)] = rank;
  std::vector<char> is_kept(points.size(), 1);
  std::vector<int> chosen;
  for (int i = 0; i < near.size(); ++i) {
    if (!is_kept[ranks[i]]) continue;
    chosen.push_back(i);
    near.VisitNear(ranks[i], [&](int other, double) { is_kept[other] = 0; });
  }
  return chosen;
}

}  // namespace pliant::physics
