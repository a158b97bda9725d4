#include "solvers/linalg/lanes/lane_cholesky.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pliant::solvers {
namespace {

constexpr std::size_t kAlignment = 8;  // numbers
constexpr int kPanel = LaneKernels::kPanel, kColumns = LaneKernels::kColumns;
constexpr int kNodesPerPass = kColumns / 3;
constexpr std::size_t kSquare = std::size_t(kColumns) * kColumns;
// Condition number above which an inverse has fewer than ten accurate digits.
constexpr double kMaxCondition = 1e6;

const LaneKernels& FindKernels() {
  return __builtin_cpu_supports("avx512f") ? kLaneKernelsAvx512 : kLaneKernelsAvx2;
}

double* AlignNumbers(std::vector<double>* numbers, std::size_t size) {
  if (numbers->size() < size + kAlignment) {
    *numbers = {};
    numbers->resize(size + size / 4 + kAlignment);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(numbers->data());
  const std::uintptr_t step = kAlignment * sizeof(double);
  return reinterpret_cast<double*>((address + step - 1) / step * step);
}

// Work space for a Schur complement. Each thread keeps its own, which stays in cache from body to
// body.
struct LaneScratch {
  std::vector<int> sorted;          // participants' positions, ascending
  std::vector<int> rank;            // participant at each of these positions
  std::vector<std::uint64_t> bits;  // positions on the paths to the root, for eight at a time
  std::vector<int> touched, touched_starts, slots;
  std::vector<double> columns, upper, lower, product, solved;
  std::vector<LaneKernels::Pair> pairs;
};

LaneScratch& MyScratch() {
  thread_local LaneScratch scratch;
  return scratch;
}

// Offset of a square in an upper (lower) triangle of squares stored by columns (rows).
std::size_t SquareAt(int low, int high) {
  return kSquare * (std::size_t(high) * (high + 1) / 2 + low);
}

// Inverts the matrix Uᵀ U whose upper triangle of squares is in `upper`, which U replaces. Leaves
// the upper triangle of the inverse in `product`. False when not positive definite.
bool Invert(const LaneKernels& kernels, int count, double* upper, double* lower, double* product) {
  // a square is eight panels
  LaneKernels::Pair pairs[kNodesPerPass];
  for (int p = 0; p < kNodesPerPass; ++p) pairs[p] = {p, p};
  for (int i = 0; i < count; ++i) {
    for (int j = i; j < count; ++j) {
      double* to = upper + SquareAt(i, j);
      for (int k = 0; k < i; ++k) {
        kernels.subtract_products(pairs, kNodesPerPass, upper + SquareAt(k, i),
                                  upper + SquareAt(k, j), to);
      }
      if (i < j) {
        kernels.solve_square(upper + SquareAt(i, i), to);
      } else if (!kernels.factor_square(to)) {
        return false;
      }
    }
  }
  // V = U⁻ᵀ
  for (int j = 0; j < count; ++j) {
    for (int i = j; i < count; ++i) {
      double* to = lower + SquareAt(j, i);
      std::fill_n(to, kSquare, 0.0);
      for (int r = 0; i == j && r < kColumns; ++r) to[r * kColumns + r] = 1;
      for (int k = j; k < i; ++k) {
        kernels.subtract_products(pairs, kNodesPerPass, upper + SquareAt(k, i),
                                  lower + SquareAt(j, k), to);
      }
      kernels.solve_square(upper + SquareAt(i, i), to);
    }
  }
  // Vᵀ V
  for (int j = 0; j < count; ++j) {
    for (int i = 0; i <= j; ++i) {
      double* to = product + SquareAt(i, j);
      std::fill_n(to, kSquare, 0.0);
      for (int k = j; k < count; ++k) {
        kernels.add_products(pairs, kNodesPerPass, lower + SquareAt(i, k), lower + SquareAt(j, k),
                             to);
      }
    }
  }
  return true;
}

}  // namespace

LaneCholesky::LaneCholesky(std::shared_ptr<const LaneLayout> layout, const LaneKernels* kernels)
    : layout_(std::move(layout)), kernels_(kernels != nullptr ? *kernels : FindKernels()) {
  L_.resize(std::size_t(LaneKernels::kBlock) * layout_->num_blocks() + kAlignment);
  failed_.fill(-1);
}

double* LaneCholesky::Align(double* p) {
  const std::uintptr_t step = kAlignment * sizeof(double);
  return reinterpret_cast<double*>((reinterpret_cast<std::uintptr_t>(p) + step - 1) / step * step);
}

LaneKernels::Layout LaneCholesky::arrays() const {
  static_assert(sizeof(LaneLayout::Term) == 2 * sizeof(int));
  const LaneLayout& layout = *layout_;
  return {layout.num_nodes(),          layout.num_sources(),      layout.column_starts().data(),
          layout.rows().data(),        layout.sources().data(),   layout.is_transposed().data(),
          layout.term_starts().data(), &layout.terms().data()->ik};
}

void LaneCholesky::Factor(std::span<const BlockMatrix* const> matrices) {
  count_ = static_cast<int>(matrices.size());
  // unused lanes repeat the first one
  const double* values[kLanes];
  for (int l = 0; l < kLanes; ++l) values[l] = matrices[l < count_ ? l : 0]->values.data();
  // with half the lanes or fewer, the narrower kernel takes half the time
  const LaneKernels& kernels = 2 * count_ > kLanes ? kernels_ : kLaneKernelsAvx2;
  kernels.factor(arrays(), count_, values, AlignedL(), failed_.data());
}

int LaneCholesky::failed_node(int lane) const {
  return failed_[lane] < 0 ? -1 : layout_->node(failed_[lane]);
}

void LaneCholesky::Solve(std::span<double* const> x) const {
  const int lanes = static_cast<int>(x.size());
  double* y = AlignNumbers(&MyScratch().solved, 3 * std::size_t(kLanes) * layout_->num_nodes());
  const auto for_each = [&](const auto& copy) {
    for (int k = 0; k < layout_->num_nodes(); ++k) {
      const std::size_t from = 3 * std::size_t(layout_->node(k));
      for (int r = 0; r < 3; ++r) {
        for (int l = 0; l < lanes; ++l) {
          if (x[l] != nullptr) copy(x[l] + from + r, y + (3 * std::size_t(k) + r) * kLanes + l);
        }
      }
    }
  };
  for_each([](const double* in_x, double* in_y) { *in_y = *in_x; });
  kernels_.solve(arrays(), lanes, AlignedL(), y);
  for_each([](double* in_x, const double* in_y) { *in_x = *in_y; });
}

bool LaneCholesky::CalcSchurComplement(int lane, std::span<const int> participants,
                                       std::vector<double>* schur) const {
  const LaneLayout& layout = *layout_;
  LaneScratch& s = MyScratch();
  const int n = static_cast<int>(participants.size());
  schur->resize(9 * std::size_t(n) * n);
  if (n == 0) return true;
  const int count = (n + kNodesPerPass - 1) / kNodesPerPass;

  // sorted by position, the nodes of a subtree are adjacent
  s.rank.resize(layout.num_nodes());
  s.sorted.clear();
  for (int k = 0; k < n; ++k) {
    s.sorted.push_back(layout.position(participants[k]));
    s.rank[s.sorted.back()] = k;
  }
  std::sort(s.sorted.begin(), s.sorted.end());

  // for eight participants at a time, find the nodes on their paths to the root
  const int words = layout.num_nodes() / 64 + 1;
  s.bits.assign(std::size_t(words) * count, 0);
  s.touched.clear();
  s.touched_starts.assign(1, 0);
  s.slots.resize(std::size_t(layout.num_nodes()) * count);
  for (int c = 0; c < count; ++c) {
    std::uint64_t* bits = &s.bits[std::size_t(words) * c];
    for (int k = c * kNodesPerPass; k < std::min(n, (c + 1) * kNodesPerPass); ++k) {
      for (int p = s.sorted[k]; p >= 0; p = layout.parent(p)) {
        const std::uint64_t bit = std::uint64_t{1} << (p % 64);
        if (bits[p / 64] & bit) break;
        bits[p / 64] |= bit;
      }
    }
    int* slots = &s.slots[std::size_t(layout.num_nodes()) * c];
    for (int w = 0; w < words; ++w) {
      for (std::uint64_t rest = bits[w]; rest != 0; rest &= rest - 1) {
        const int p = 64 * w + __builtin_ctzll(rest);
        slots[p] = static_cast<int>(s.touched.size());
        s.touched.push_back(p);
      }
    }
    s.touched_starts.push_back(static_cast<int>(s.touched.size()));
  }

  // X = L⁻¹ P
  double* X = AlignNumbers(&s.columns, kPanel * s.touched.size());
  std::fill_n(X, kPanel * s.touched.size(), 0.0);
  for (int c = 0; c < count; ++c) {
    const int* slots = &s.slots[std::size_t(layout.num_nodes()) * c];
    for (int k = c * kNodesPerPass; k < std::min(n, (c + 1) * kNodesPerPass); ++k) {
      double* panel = X + std::size_t(kPanel) * slots[s.sorted[k]];
      for (int r = 0; r < 3; ++r) panel[r * kColumns + 3 * (k % kNodesPerPass) + r] = 1;
    }
    const int first = s.touched_starts[c];
    kernels_.solve_columns(arrays(), AlignedL() + lane, &s.touched[first],
                           s.touched_starts[c + 1] - first, slots, X);
  }

  // Pᵀ A⁻¹ P = Xᵀ X, summed over the nodes common to both paths
  const std::size_t squares = SquareAt(0, count);
  double* upper = AlignNumbers(&s.upper, squares);
  std::fill_n(upper, squares, 0.0);
  for (int j = 0; j < count; ++j) {
    for (int i = 0; i <= j; ++i) {
      s.pairs.clear();
      for (int w = 0; w < words; ++w) {
        for (std::uint64_t rest =
                 s.bits[std::size_t(words) * i + w] & s.bits[std::size_t(words) * j + w];
             rest != 0; rest &= rest - 1) {
          const int p = 64 * w + __builtin_ctzll(rest);
          s.pairs.push_back({s.slots[std::size_t(layout.num_nodes()) * i + p],
                             s.slots[std::size_t(layout.num_nodes()) * j + p]});
        }
      }
      kernels_.add_products(s.pairs.data(), static_cast<int>(s.pairs.size()), X, X,
                            upper + SquareAt(i, j));
    }
  }
  double largest = 0;
  const auto diagonal_of = [&](double* triangle, int r) -> double& {
    const int c = r / kColumns;
    return triangle[SquareAt(c, c) + (r % kColumns) * (kColumns + 1)];
  };
  for (int r = 0; r < 3 * n; ++r) largest = std::max(largest, diagonal_of(upper, r));
  // pad the last square with the identity
  for (int r = 3 * n; r < kColumns * count; ++r) diagonal_of(upper, r) = 1;

  double* lower = AlignNumbers(&s.lower, squares);
  double* inverse = AlignNumbers(&s.product, squares);
  if (!Invert(kernels_, count, upper, lower, inverse)) return false;
  double largest_inverse = 0;
  for (int r = 0; r < 3 * n; ++r)
    largest_inverse = std::max(largest_inverse, diagonal_of(inverse, r));
  if (!(largest * largest_inverse < kMaxCondition)) return false;

  // copy both triangles in the order of the participants
  for (int i = 0; i < n; ++i) {
    const std::size_t row = 3 * std::size_t(s.rank[s.sorted[i]]);
    for (int r = 0; r < 3; ++r) {
      double* column = &(*schur)[3 * n * (row + r)];
      for (int j = i; j < n; ++j) {
        const double* from = inverse + SquareAt(i / kNodesPerPass, j / kNodesPerPass) +
                             (3 * (i % kNodesPerPass) + r) * kColumns + 3 * (j % kNodesPerPass);
        const std::size_t at = 3 * std::size_t(s.rank[s.sorted[j]]);
        for (int c = i == j ? r : 0; c < 3; ++c) {
          column[at + c] = from[c];
          (*schur)[3 * n * (at + c) + row + r] = from[c];
        }
      }
    }
  }
  return true;
}

}  // namespace pliant::solvers
