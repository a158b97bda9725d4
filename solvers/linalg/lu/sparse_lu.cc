#include "solvers/linalg/lu/sparse_lu.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {
namespace {

// Number of columns that are factored before the rest of a front is updated.
constexpr int kStrip = 32;
// A pivot is replaced if it is below this fraction of the largest entry of its front's diagonal
// block.
constexpr double kSmallestPivot = 1e-13;

// Factors columns [begin, end) of `lower`, whose rows [begin, width) may be interchanged, and
// interchanges them in all columns. Returns the number of replaced pivots, or −1 if a number is not
// finite.
int FactorStrip(int begin, int end, int width, int height, double smallest, double* lower,
                int* swaps) {
  int replaced = 0;
  for (int j = begin; j < end; ++j) {
    double* column = lower + std::size_t(j) * height;
    int best = j;
    for (int i = j + 1; i < width; ++i)
      if (std::abs(column[i]) > std::abs(column[best])) best = i;
    swaps[j] = best;
    if (best != j) {
      for (int c = 0; c < width; ++c)
        std::swap(lower[std::size_t(c) * height + j], lower[std::size_t(c) * height + best]);
    }
    double pivot = column[j];
    if (!std::isfinite(pivot)) return -1;
    if (std::abs(pivot) < smallest) {
      pivot = column[j] = pivot < 0 ? -smallest : smallest;
      ++replaced;
    }
    const double inverse = 1 / pivot;
    for (int i = j + 1; i < height; ++i) column[i] *= inverse;
    for (int c = j + 1; c < end; ++c) {
      double* other = lower + std::size_t(c) * height;
      const double u = other[j];
      if (u == 0) continue;
      for (int i = j + 1; i < height; ++i) other[i] -= u * column[i];
    }
  }
  return replaced;
}

}  // namespace

bool SparseLu::Factor(const BlockSum& A, std::span<const double> weights) {
  pattern_->Set(A);
  if (version_ != pattern_->version()) Analyse(A);

  std::ranges::fill(panels_, 0.0);
  for (std::size_t k = 0; k < A.entries.size(); ++k) {
    const BlockSum::Entry& entry = A.entries[k];
    panels_[offsets_[k]] += weights.empty() ? entry.value : weights[entry.row] * entry.value;
  }
  for (const std::size_t offset : diagonal_of_padding_) panels_[offset] = 1;

  num_replaced_ = 0;
  updates_.resize(layout_.update_numbers());
  const std::size_t count = layout_.supernodes().size();
  for (std::size_t k = 0; k <= count; ++k) {
    AddUpdates(k, true);
    const Front at = front(k);
    if (at.width == 0) continue;
    if (!FactorFront(at)) return false;
    if (k == count || at.rows == 0) continue;
    double* update = updates_.data() + layout_.supernodes()[k].update;
    NegateProduct(at.rows, at.rows, at.width, at.lower + at.width, at.height, at.upper, at.rows,
                  update, at.rows);
    AddUpdates(k, false);
  }
  return true;
}

void SparseLu::Analyse(const BlockSum& A) {
  version_ = pattern_->version();
  const int groups = pattern_->pattern().num_nodes, num_last = (A.num_last + 2) / 3;
  std::vector<int> last(num_last), in_turn(num_last);
  std::iota(last.begin(), last.end(), groups - num_last);
  std::iota(in_turn.begin(), in_turn.end(), 0);
  layout_.SetPattern(pattern_->pattern(), pattern_->order());
  layout_.LayOut(last);
  layout_.Place(in_turn, false);

  const std::span supernodes = layout_.supernodes();
  supernode_at_.assign(groups, static_cast<int>(supernodes.size()));
  first_.assign(1, 0);
  for (std::size_t k = 0; k < supernodes.size(); ++k) {
    const auto& node = supernodes[k];
    std::fill_n(supernode_at_.begin() + node.first, node.columns, static_cast<int>(k));
    first_.push_back(first_.back() +
                     std::size_t(node.width()) * (node.height() + node.update_size()));
  }
  first_.push_back(first_.back() + std::size_t(layout_.root().width()) * layout_.root().width());
  panels_.resize(first_.back());
  swaps_.resize(3 * std::size_t(groups));

  const std::span places = pattern_->places();
  offsets_.resize(places.size());
  Place place{};
  int row_group = -1, column_group = -1;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const int i = pattern_->slot(places[k].first), j = pattern_->slot(places[k].second);
    if (i / 3 != row_group || j / 3 != column_group) {
      row_group = i / 3;
      column_group = j / 3;
      place = PlaceOf(row_group, column_group);
    }
    offsets_[k] = OffsetOf(place, i % 3, j % 3);
  }
  diagonal_of_padding_.clear();
  for (const int slot : pattern_->padding())
    diagonal_of_padding_.push_back(OffsetOf(PlaceOf(slot / 3, slot / 3), slot % 3, slot % 3));
}

SparseLu::Place SparseLu::PlaceOf(int row_group, int column_group) const {
  const int row = layout_.position(row_group), column = layout_.position(column_group);
  const int owner = supernode_at_[std::min(row, column)];
  const auto& node = fronts()[owner];
  const auto place = [&](int position) {
    if (position < node.first + node.columns) return position - node.first;
    const std::span<const int> rows = layout_.rows(node);
    return node.columns +
           static_cast<int>(std::lower_bound(rows.begin(), rows.end(), position) - rows.begin());
  };
  if (place(column) < node.columns) return {owner, place(row), place(column), false};
  return {owner, place(row), place(column) - node.columns, true};
}

std::size_t SparseLu::OffsetOf(const Place& place, int i, int j) const {
  const auto& node = fronts()[place.supernode];
  const std::size_t first = first_[place.supernode], height = 3 * (node.columns + node.num_rows);
  if (!place.is_above)
    return first + (3 * std::size_t(place.column) + j) * height + 3 * place.row + i;
  const std::size_t rows = 3 * node.num_rows;
  return first + height * node.width() + (3 * std::size_t(place.row) + i) * rows +
         3 * place.column + j;
}

// All supernodes, then the root with the unknowns that are eliminated last.
std::span<const SupernodeLayout::Supernode> SparseLu::fronts() const {
  const std::span supernodes = layout_.supernodes();
  return {supernodes.data(), supernodes.size() + 1};
}

SparseLu::Front SparseLu::front(std::size_t supernode) const {
  const auto& node = fronts()[supernode];
  const int width = node.width(), rows = 3 * node.num_rows, height = width + rows;
  double* lower = panels_.data() + first_[supernode];
  return {width,
          rows,
          height,
          lower,
          lower + std::size_t(height) * width,
          swaps_.data() + 3 * std::size_t(node.first)};
}

bool SparseLu::FactorFront(const Front& f) {
  double largest = 0;
  for (int j = 0; j < f.width; ++j) {
    for (int i = 0; i < f.width; ++i)
      largest = std::max(largest, std::abs(f.lower[std::size_t(j) * f.height + i]));
  }
  const double smallest = std::max(kSmallestPivot * largest, 1e-300);
  for (int begin = 0; begin < f.width; begin += kStrip) {
    const int end = std::min(begin + kStrip, f.width), count = end - begin, left = f.width - end;
    const int replaced = FactorStrip(begin, end, f.width, f.height, smallest, f.lower, f.swaps);
    if (replaced < 0) return false;
    num_replaced_ += replaced;

    // the rows of U right of the strip within the diagonal block, and their transpose
    const double* strip = f.lower + std::size_t(begin) * f.height;
    scratch_.resize(std::size_t(left) * count);
    for (int c = 0; c < left; ++c) {
      double* column = f.lower + std::size_t(end + c) * f.height;
      for (int j = begin; j < end; ++j) {
        const double u = column[j];
        scratch_[std::size_t(j - begin) * left + c] = u;
        const double* l = f.lower + std::size_t(j) * f.height;
        for (int i = j + 1; i < end; ++i) column[i] -= u * l[i];
      }
    }
    SubtractProduct(f.height - end, left, count, strip + end, f.height, scratch_.data(), left,
                    f.lower + std::size_t(end) * f.height + end, f.height);

    // the part right of the diagonal block, by columns of its transpose
    if (f.rows == 0) continue;
    for (int j = begin; j < end; ++j) {
      double* own = f.upper + std::size_t(j) * f.rows;
      if (f.swaps[j] != j)
        std::swap_ranges(own, own + f.rows, f.upper + std::size_t(f.swaps[j]) * f.rows);
    }
    for (int j = begin; j < end; ++j) {
      const double* own = f.upper + std::size_t(j) * f.rows;
      const double* l = f.lower + std::size_t(j) * f.height;
      for (int c = j + 1; c < end; ++c) {
        double* other = f.upper + std::size_t(c) * f.rows;
        for (int i = 0; i < f.rows; ++i) other[i] -= l[c] * own[i];
      }
    }
    SubtractProduct(f.rows, left, count, f.upper + std::size_t(begin) * f.rows, f.rows, strip + end,
                    f.height, f.upper + std::size_t(end) * f.rows, f.rows);
  }
  return true;
}

// Adds the update matrices of a supernode's children to its panels, or to its own update matrix.
void SparseLu::AddUpdates(std::size_t supernode, bool to_panels) {
  const auto& node = fronts()[supernode];
  const Front f = front(supernode);
  double* own = supernode < layout_.supernodes().size() ? updates_.data() + node.update : nullptr;
  for (const int c : layout_.children(node)) {
    const auto& child = layout_.supernodes()[c];
    const std::span<const int> places = layout_.relative(child);
    const int m = child.num_rows, size = 3 * m, inside = child.in_panel;
    const double* update = updates_.data() + child.update;
    // places ascend, so rows in the panel's columns come first
    for (int b = to_panels ? 0 : inside; b < m; ++b) {
      for (int j = 0; j < 3; ++j) {
        const double* from = update + (3 * std::size_t(b) + j) * size;
        const int column = 3 * places[b] + j;
        if (b < inside) {
          double* to = f.lower + std::size_t(column) * f.height;
          for (int a = 0; a < m; ++a)
            for (int i = 0; i < 3; ++i) to[3 * places[a] + i] += from[3 * a + i];
        } else if (to_panels) {
          double* to = f.upper + (column - f.width);
          for (int a = 0; a < inside; ++a) {
            for (int i = 0; i < 3; ++i)
              to[(3 * std::size_t(places[a]) + i) * f.rows] += from[3 * a + i];
          }
        } else {
          double* to = own + std::size_t(column - f.width) * f.rows;
          for (int a = inside; a < m; ++a)
            for (int i = 0; i < 3; ++i) to[3 * places[a] + i - f.width] += from[3 * a + i];
        }
      }
    }
  }
}

void SparseLu::Solve(std::span<double> x) const {
  const std::size_t count = fronts().size();
  x_.assign(3 * std::size_t(pattern_->pattern().num_nodes), 0.0);
  const auto place = [&](int i) {
    const int slot = pattern_->slot(i);
    return 3 * layout_.position(slot / 3) + slot % 3;
  };
  for (int i = 0; i < pattern_->num_unknowns(); ++i) x_[place(i)] = x[i];
  for (std::size_t k = 0; k < count; ++k) {
    const auto& node = fronts()[k];
    const Front f = front(k);
    double* own = x_.data() + 3 * std::size_t(node.first);
    for (int j = 0; j < f.width; ++j)
      if (f.swaps[j] != j) std::swap(own[j], own[f.swaps[j]]);
    for (int j = 0; j < f.width; ++j) {
      const double* l = f.lower + std::size_t(j) * f.height;
      for (int i = j + 1; i < f.width; ++i) own[i] -= own[j] * l[i];
    }
    if (f.rows == 0) continue;
    rows_.assign(f.rows, 0.0);
    SubtractMatrixVector(f.rows, f.width, f.lower + f.width, f.height, own, rows_.data());
    const std::span<const int> rows = layout_.rows(node);
    for (int r = 0; r < node.num_rows; ++r)
      for (int i = 0; i < 3; ++i) x_[3 * std::size_t(rows[r]) + i] += rows_[3 * r + i];
  }
  for (std::size_t k = count; k-- > 0;) {
    const auto& node = fronts()[k];
    const Front f = front(k);
    double* own = x_.data() + 3 * std::size_t(node.first);
    if (f.rows > 0) {
      rows_.resize(f.rows);
      const std::span<const int> rows = layout_.rows(node);
      for (int r = 0; r < node.num_rows; ++r)
        std::copy_n(&x_[3 * std::size_t(rows[r])], 3, &rows_[3 * r]);
      SubtractTransposedMatrixVector(f.rows, f.width, f.upper, f.rows, rows_.data(), own);
    }
    for (int j = f.width - 1; j >= 0; --j) {
      const double* u = f.lower + std::size_t(j) * f.height;
      own[j] /= u[j];
      for (int i = 0; i < j; ++i) own[i] -= own[j] * u[i];
    }
  }
  for (int i = 0; i < pattern_->num_unknowns(); ++i) x[i] = x_[place(i)];
}

}  // namespace pliant::solvers
