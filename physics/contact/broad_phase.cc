#include "physics/contact/broad_phase.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>
#include <numeric>

namespace pliant::physics {
namespace {

using Eigen::Vector3d;

constexpr int kWidth = 4;
// Up to this many boxes are tested pairwise.
constexpr int kMaxPairwiseBoxes = 48;
// Strips hold at least this many boxes on average.
constexpr int kMinInStrip = 64;
// Up to this many chosen boxes are tested against all others.
constexpr int kMaxPairwiseChosen = 16;
// Mean number of places moved beyond which insertion sort gives way to std::sort.
constexpr int kMaxInsertionDistance = 8;

bool IsEmpty(const AxisAlignedBox& box) {
  return !(box.lower.array() <= box.upper.array()).all();
}

}  // namespace

void BroadPhase::Columns::Start(int count) {
  count_ = count;
  stride_ = static_cast<std::size_t>(count) + kWidth;
  bounds_.resize(6 * stride_);
  for (int k = count; k < count + kWidth; ++k) Set(k, {});
}

template <typename F>
void BroadPhase::Columns::ForEachOverlap(const AxisAlignedBox& box, int first, int end, int axis,
                                         const F& f) const {
  __m256d low[3], high[3];
  for (int k = 0; k < 3; ++k) {
    low[k] = _mm256_set1_pd(box.lower[k]);
    high[k] = _mm256_set1_pd(box.upper[k]);
  }
  for (int i = first; i < end; i += kWidth) {
    const auto begins = [&](int k) {
      return _mm256_cmp_pd(_mm256_loadu_pd(&bounds_[k * stride_ + i]), high[k], _CMP_LE_OQ);
    };
    const auto ends = [&](int k) {
      return _mm256_cmp_pd(_mm256_loadu_pd(&bounds_[(3 + k) * stride_ + i]), low[k], _CMP_GE_OQ);
    };
    if (axis >= 0 && _mm256_movemask_pd(begins(axis)) == 0) return;
    const __m256d along_x = _mm256_and_pd(begins(0), ends(0)),
                  along_y = _mm256_and_pd(begins(1), ends(1)),
                  along_z = _mm256_and_pd(begins(2), ends(2));
    unsigned overlaps = _mm256_movemask_pd(_mm256_and_pd(_mm256_and_pd(along_x, along_y), along_z));
    if (end - i < kWidth) overlaps &= (1u << (end - i)) - 1;
    for (; overlaps != 0; overlaps &= overlaps - 1) f(i + __builtin_ctz(overlaps));
  }
}

// Sorts the boxes to be swept by their lower ends. Boxes at rest keep their places, so the previous
// order is nearly right.
void BroadPhase::Order(std::span<const AxisAlignedBox> boxes, int axis) {
  const int n = static_cast<int>(boxes.size());
  std::erase_if(order_, [&](const Start& start) {
    if (start.box >= n || !is_swept_[start.box]) return true;
    is_swept_[start.box] = 2;
    return false;
  });
  for (int i = 0; i < n; ++i)
    if (is_swept_[i] == 1) order_.push_back({0, i});
  for (Start& start : order_) start.lower = boxes[start.box].lower[axis];
  std::size_t moves = 0;
  for (std::size_t k = 1; k < order_.size() && moves <= kMaxInsertionDistance * order_.size();
       ++k) {
    const Start start = order_[k];
    std::size_t place = k;
    for (; place > 0 && start < order_[place - 1]; --place) order_[place] = order_[place - 1];
    order_[place] = start;
    moves += k - place;
  }
  if (moves > kMaxInsertionDistance * order_.size()) std::sort(order_.begin(), order_.end());
}

void BroadPhase::Sweep(std::span<const AxisAlignedBox> boxes, int axis, int across) {
  const int count = static_cast<int>(order_.size());

  // strips twice as wide as the mean box
  double low = 1e300, high = -1e300, sum = 0;
  for (const Start& start : order_) {
    const AxisAlignedBox& box = boxes[start.box];
    low = std::min(low, box.lower[across]);
    high = std::max(high, box.upper[across]);
    sum += box.upper[across] - box.lower[across];
  }
  const double most = sum > 0 ? (high - low) * count / (2 * sum) : 1;
  const int strips =
      static_cast<int>(std::clamp(most, 1.0, std::max(1.0, 1.0 * count / kMinInStrip)));
  const double per_length = strips > 1 ? strips / (high - low) : 0;
  const auto strip_of = [&](double x) {
    return std::clamp(static_cast<int>((x - low) * per_length), 0, strips - 1);
  };

  // a box belongs to every strip that it enters
  const auto for_strips = [&](const Start& start, const auto& f) {
    const AxisAlignedBox& box = boxes[start.box];
    const int last = strip_of(box.upper[across]);
    for (int s = strip_of(box.lower[across]); s <= last; ++s) f(s);
  };
  strip_starts_.assign(strips + 1, 0);
  for (const Start& start : order_) for_strips(start, [&](int s) { ++strip_starts_[s + 1]; });
  std::partial_sum(strip_starts_.begin(), strip_starts_.end(), strip_starts_.begin());
  strip_items_.resize(strip_starts_.back());
  for (const Start& start : order_)
    for_strips(start, [&](int s) { strip_items_[strip_starts_[s]++] = start.box; });

  for (int s = 0; s < strips && !gave_up_; ++s) {
    // filling has advanced each start to its end, which is the next strip's start
    const int begin = s == 0 ? 0 : strip_starts_[s - 1];
    const std::span<const int> items =
        std::span<const int>(strip_items_).subspan(begin, strip_starts_[s] - begin);
    const int in_strip = static_cast<int>(items.size());
    of_strip_.Start(in_strip);
    for (int k = 0; k < in_strip; ++k) of_strip_.Set(k, boxes[items[k]]);
    for (int k = 0; k < in_strip && !GivesUp(); ++k) {
      const int i = items[k];
      of_strip_.ForEachOverlap(boxes[i], k + 1, in_strip, axis, [&](int l) {
        // report a pair only in the strip in which the two begin to overlap
        const int j = items[l];
        if (strips > 1 && strip_of(std::max(boxes[i].lower[across], boxes[j].lower[across])) != s)
          return;
        found_.emplace_back(std::min(i, j), std::max(i, j));
      });
    }
  }
}

// Sorts the pairs by their first box, by counting, then by their second.
void BroadPhase::SortPairs(int num_boxes) {
  pair_starts_.assign(num_boxes + 1, 0);
  for (const auto& [i, j] : found_) ++pair_starts_[i + 1];
  std::partial_sum(pair_starts_.begin(), pair_starts_.end(), pair_starts_.begin());
  pairs_.resize(found_.size());
  for (const auto& pair : found_) pairs_[pair_starts_[pair.first]++] = pair;
  for (int i = 0, begin = 0; i < num_boxes; begin = pair_starts_[i++]) {
    const auto from = pairs_.begin() + begin, to = pairs_.begin() + pair_starts_[i];
    if (!std::is_sorted(from, to)) std::sort(from, to);
  }
}

void BroadPhase::FindAmong(std::span<const AxisAlignedBox> boxes) {
  const int n = static_cast<int>(boxes.size());
  all_.Start(n);
  for (int i = 0; i < n; ++i) all_.Set(i, boxes[i]);
  found_.clear();
  gave_up_ = false;
  if (n <= kMaxPairwiseBoxes) {
    for (int i = 0; i < n && !GivesUp(); ++i) {
      if (IsEmpty(boxes[i])) continue;
      all_.ForEachOverlap(boxes[i], i + 1, n, -1, [&](int j) { found_.emplace_back(i, j); });
    }
    return;
  }

  // the two axes with the largest variance of the centres, very large boxes excluded
  Vector3d sum = Vector3d::Zero(), squares = Vector3d::Zero();
  int count = 0;
  for (const AxisAlignedBox& box : boxes) {
    if (IsEmpty(box) || (box.upper - box.lower).maxCoeff() > 1e5) continue;
    const Vector3d center = 0.5 * (box.lower + box.upper);
    sum += center;
    squares += center.cwiseAbs2();
    ++count;
  }
  int axis = 0, across = 1;
  double spread = 0;
  if (count > 0) {
    Vector3d variance = squares / count - (sum / count).cwiseAbs2();
    spread = variance.maxCoeff(&axis);
    variance[axis] = -1e300;
    variance.maxCoeff(&across);
  }

  // long boxes would stay active through the whole sweep
  long_.clear();
  is_swept_.assign(n, 0);
  for (int i = 0; i < n; ++i) {
    if (IsEmpty(boxes[i])) continue;
    const double length = boxes[i].upper[axis] - boxes[i].lower[axis];
    is_swept_[i] = length * length > spread ? 0 : 1;
    if (!is_swept_[i]) long_.push_back(i);
  }
  for (const int i : long_) {
    if (GivesUp()) return;
    all_.ForEachOverlap(boxes[i], 0, n, -1, [&](int j) {
      if (j > i || is_swept_[j]) found_.emplace_back(std::min(i, j), std::max(i, j));
    });
  }
  Order(boxes, axis);
  Sweep(boxes, axis, across);
}

const std::vector<std::pair<int, int>>& BroadPhase::FindOverlaps(
    std::span<const AxisAlignedBox> boxes) {
  FindAmong(boxes);
  SortPairs(static_cast<int>(boxes.size()));
  return pairs_;
}

const std::vector<std::pair<int, int>>& BroadPhase::FindOverlaps(
    std::span<const AxisAlignedBox> boxes, std::span<const int> starts) {
  const int n = static_cast<int>(boxes.size()), count = static_cast<int>(starts.size()) - 1;
  if (count == n) return FindOverlaps(boxes);

  // test groups against each other, then the boxes of overlapping groups
  groups_.assign(count, {});
  for (int g = 0; g < count; ++g)
    for (int i = starts[g]; i < starts[g + 1]; ++i) groups_[g].Include(boxes[i]);
  FindAmong(groups_);
  pairs_.swap(found_);
  found_.clear();
  all_.Start(n);
  for (int i = 0; i < n; ++i) all_.Set(i, boxes[i]);
  for (int g = 0; g < count && !GivesUp(); ++g) {
    for (int i = starts[g]; i < starts[g + 1] - 1; ++i)
      all_.ForEachOverlap(boxes[i], i + 1, starts[g + 1], -1,
                          [&](int j) { found_.emplace_back(i, j); });
  }
  for (const auto& [g, h] : pairs_) {
    if (GivesUp()) break;
    for (int i = starts[g]; i < starts[g + 1]; ++i)
      all_.ForEachOverlap(boxes[i], starts[h], starts[h + 1], -1,
                          [&](int j) { found_.emplace_back(i, j); });
  }
  SortPairs(n);
  return pairs_;
}

const std::vector<std::pair<int, int>>& BroadPhase::FindOverlapsOf(
    std::span<const char> is_chosen, std::span<const AxisAlignedBox> boxes,
    std::span<const int> starts) {
  const int n = static_cast<int>(boxes.size());
  if (std::ranges::count_if(is_chosen, [](char chosen) { return chosen != 0; }) >
      kMaxPairwiseChosen) {
    FindOverlaps(boxes, starts);
    std::erase_if(pairs_, [&](const auto& pair) {
      return !is_chosen[pair.first] && !is_chosen[pair.second];
    });
    return pairs_;
  }
  found_.clear();
  gave_up_ = false;
  all_.Start(n);
  for (int i = 0; i < n; ++i) all_.Set(i, boxes[i]);
  for (int i = 0; i < n && !GivesUp(); ++i) {
    if (!is_chosen[i] || IsEmpty(boxes[i])) continue;
    all_.ForEachOverlap(boxes[i], 0, n, -1, [&](int j) {
      if (j > i || (j < i && !is_chosen[j])) found_.emplace_back(std::min(i, j), std::max(i, j));
    });
  }
  SortPairs(n);
  return pairs_;
}

}  // namespace pliant::physics
