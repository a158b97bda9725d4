#pragma once

// LaneKernels, written once for every vector width. Included by one source file per width, each
// with its own compiler flags, inside an anonymous namespace: nothing here may be shared between
// them.
//
// V wraps a vector: Type, kWidth, Load, Store, Set(x), Zero(), Multiply, Divide, SquareRoot,
// MultiplyAdd(a, b, c) = c + a b and NegativeMultiplyAdd(a, b, c) = c − a b with one rounding,
// FindNotPositive(x) by bits, and LoadBlock(values, offset, x), which gathers a block's nine
// entries from as many matrices as it has lanes.

#include <cstddef>
#include <cstdint>

#include "solvers/linalg/lanes/lane_kernels.h"

namespace {

using Kernels = pliant::solvers::LaneKernels;
constexpr int kStride = Kernels::kLanes;

// C −= A Bᵀ of 3 × 3 blocks in registers
template <typename V>
struct Accumulators {
  using T = typename V::Type;
  T c00, c10, c20, c01, c11, c21, c02, c12, c22;

  void Load(const double* const* values, std::size_t block, bool transposed) {
    T x[9];
    V::LoadBlock(values, 9 * block, x);
    c00 = x[0], c11 = x[4], c22 = x[8];
    c10 = transposed ? x[3] : x[1];
    c01 = transposed ? x[1] : x[3];
    c20 = transposed ? x[6] : x[2];
    c02 = transposed ? x[2] : x[6];
    c21 = transposed ? x[7] : x[5];
    c12 = transposed ? x[5] : x[7];
  }
  void Clear() { c00 = c10 = c20 = c01 = c11 = c21 = c02 = c12 = c22 = V::Zero(); }
  void Subtract(const double* A, const double* B) {
    for (int k = 0; k < 3; ++k, A += 3 * kStride, B += 3 * kStride) {
      T a0 = V::Load(A), a1 = V::Load(A + kStride), a2 = V::Load(A + 2 * kStride);
      T b0 = V::Load(B), b1 = V::Load(B + kStride), b2 = V::Load(B + 2 * kStride);
      // keeps them in registers: the compiler would reload them for every product
      asm("" : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(b0), "+v"(b1), "+v"(b2));
      c00 = V::NegativeMultiplyAdd(a0, b0, c00);
      c10 = V::NegativeMultiplyAdd(a1, b0, c10);
      c20 = V::NegativeMultiplyAdd(a2, b0, c20);
      c01 = V::NegativeMultiplyAdd(a0, b1, c01);
      c11 = V::NegativeMultiplyAdd(a1, b1, c11);
      c21 = V::NegativeMultiplyAdd(a2, b1, c21);
      c02 = V::NegativeMultiplyAdd(a0, b2, c02);
      c12 = V::NegativeMultiplyAdd(a1, b2, c12);
      c22 = V::NegativeMultiplyAdd(a2, b2, c22);
    }
  }
  // the lower triangle of C −= A Aᵀ
  void SubtractSquare(const double* A) {
    for (int k = 0; k < 3; ++k, A += 3 * kStride) {
      const T a0 = V::Load(A), a1 = V::Load(A + kStride), a2 = V::Load(A + 2 * kStride);
      c00 = V::NegativeMultiplyAdd(a0, a0, c00);
      c10 = V::NegativeMultiplyAdd(a1, a0, c10);
      c20 = V::NegativeMultiplyAdd(a2, a0, c20);
      c11 = V::NegativeMultiplyAdd(a1, a1, c11);
      c21 = V::NegativeMultiplyAdd(a2, a1, c21);
      c22 = V::NegativeMultiplyAdd(a2, a2, c22);
    }
  }
};

// Prefetches the data that Factor needs next, because more bodies than fit in the cache are read
// from memory. Prefetches in memory order: the order of elimination would jump between as many
// matrices as there are lanes, which is no faster.
template <typename V>
class Ahead {
 public:
  Ahead(const Kernels::Layout& layout, const double* const* values, const double* L)
      : layout_(layout),
        values_(values),
        L_(L),
        last_block_(layout.column_starts[layout.num_nodes] - 1) {}

  // Prefetches A for column j and later ones. The columns eliminated first have neighbours
  // everywhere: a quarter of A is fetched at once, the rest at twice the pace of the columns.
  void FetchMatrices(int j) {
    const std::int64_t size = 9 * std::int64_t{layout_.num_sources};
    const std::int64_t pace = size / 4 + 2 * size * j / layout_.num_nodes;
    const std::int64_t end = pace < size ? pace : size;
    for (; fetched_ < end; fetched_ += kLine) {
      for (int l = 0; l < V::kWidth; ++l)
        __builtin_prefetch(values_[l] + fetched_, 0, kSecondLevelCache);
    }
  }
  // Prefetches the storage of a block of L some blocks after this one.
  void FetchPlace(int block) const {
    constexpr int kBlocks = 16;
    const int later = block + kBlocks < last_block_ ? block + kBlocks : last_block_;
    const double* place = L_ + std::size_t(Kernels::kBlock) * later;
    for (int e = 0; e < 9; ++e) __builtin_prefetch(place + e * kStride, 1, kSecondLevelCache);
  }

 private:
  static constexpr int kLine = 8;              // numbers
  static constexpr int kSecondLevelCache = 2;  // into the second-level cache: the first has no room

  const Kernels::Layout& layout_;
  const double* const* values_;
  const double* L_;
  int last_block_;
  std::int64_t fetched_ = 0;
};

// Lanes first … first + V::kWidth − 1.
template <typename V>
void FactorPart(const Kernels::Layout& layout, int first, const double* const* values, double* L,
                int* failed) {
  using T = typename V::Type;
  values += first;
  L += first;
  const T one = V::Set(1.0);
  int all_failed = 0;
  Ahead<V> ahead(layout, values, L);
  for (int l = 0; l < V::kWidth; ++l) failed[first + l] = -1;
  for (int j = 0; j < layout.num_nodes; ++j) {
    const int diagonal = layout.column_starts[j];
    ahead.FetchMatrices(j);
    ahead.FetchPlace(diagonal);
    Accumulators<V> C;
    C.Load(values, layout.sources[diagonal], false);
    for (int t = layout.term_starts[diagonal]; t < layout.term_starts[diagonal + 1]; ++t)
      C.SubtractSquare(L + std::size_t(Kernels::kBlock) * layout.terms[2 * t]);

    // its Cholesky factor
    int bad = V::FindNotPositive(C.c00);
    const T i0 = V::Divide(one, V::SquareRoot(C.c00));
    const T l10 = V::Multiply(C.c10, i0), l20 = V::Multiply(C.c20, i0);
    const T p1 = V::NegativeMultiplyAdd(l10, l10, C.c11);
    bad |= V::FindNotPositive(p1);
    const T i1 = V::Divide(one, V::SquareRoot(p1));
    const T l21 = V::Multiply(V::NegativeMultiplyAdd(l20, l10, C.c21), i1);
    const T p2 = V::NegativeMultiplyAdd(l21, l21, V::NegativeMultiplyAdd(l20, l20, C.c22));
    bad |= V::FindNotPositive(p2);
    const T i2 = V::Divide(one, V::SquareRoot(p2));
    if (bad & ~all_failed) {
      for (int l = 0; l < V::kWidth; ++l) {
        if ((bad & ~all_failed) >> l & 1) failed[first + l] = j;
      }
      all_failed |= bad;
    }
    double* to = L + std::size_t(Kernels::kBlock) * diagonal;
    V::Store(to, i0);
    V::Store(to + kStride, l10);
    V::Store(to + 2 * kStride, l20);
    V::Store(to + 4 * kStride, i1);
    V::Store(to + 5 * kStride, l21);
    V::Store(to + 8 * kStride, i2);

    // and the rows below
    for (int b = diagonal + 1; b < layout.column_starts[j + 1]; ++b) {
      to += Kernels::kBlock;
      ahead.FetchPlace(b);
      if (layout.sources[b] >= 0) {
        C.Load(values, layout.sources[b], layout.is_transposed[b]);
      } else {
        C.Clear();
      }
      for (int t = layout.term_starts[b]; t < layout.term_starts[b + 1]; ++t) {
        C.Subtract(L + std::size_t(Kernels::kBlock) * layout.terms[2 * t],
                   L + std::size_t(Kernels::kBlock) * layout.terms[2 * t + 1]);
      }
      const T x00 = V::Multiply(C.c00, i0), x10 = V::Multiply(C.c10, i0),
              x20 = V::Multiply(C.c20, i0);
      const T x01 = V::Multiply(V::NegativeMultiplyAdd(x00, l10, C.c01), i1),
              x11 = V::Multiply(V::NegativeMultiplyAdd(x10, l10, C.c11), i1),
              x21 = V::Multiply(V::NegativeMultiplyAdd(x20, l10, C.c21), i1);
      const auto last = [&](T c, T x0, T x1) {
        return V::Multiply(V::NegativeMultiplyAdd(x1, l21, V::NegativeMultiplyAdd(x0, l20, c)), i2);
      };
      V::Store(to, x00);
      V::Store(to + kStride, x10);
      V::Store(to + 2 * kStride, x20);
      V::Store(to + 3 * kStride, x01);
      V::Store(to + 4 * kStride, x11);
      V::Store(to + 5 * kStride, x21);
      V::Store(to + 6 * kStride, last(C.c02, x00, x01));
      V::Store(to + 7 * kStride, last(C.c12, x10, x11));
      V::Store(to + 8 * kStride, last(C.c22, x20, x21));
    }
  }
}

template <typename V>
void Factor(const Kernels::Layout& layout, int count, const double* const* values, double* L,
            int* failed) {
  for (int first = 0; first < count; first += V::kWidth)
    FactorPart<V>(layout, first, values, L, failed);
}

template <typename V>
void SolvePart(const Kernels::Layout& layout, const double* L, double* y) {
  using T = typename V::Type;
  const auto block_at = [L](int b) { return L + std::size_t(Kernels::kBlock) * b; };
  const auto of = [y](int position) { return y + std::size_t(3 * kStride) * position; };
  for (int j = 0; j < layout.num_nodes; ++j) {
    const int diagonal = layout.column_starts[j];
    const double* D = block_at(diagonal);
    double* yj = of(j);
    const T x0 = V::Multiply(V::Load(yj), V::Load(D));
    const T x1 =
        V::Multiply(V::NegativeMultiplyAdd(V::Load(D + kStride), x0, V::Load(yj + kStride)),
                    V::Load(D + 4 * kStride));
    T x2 = V::NegativeMultiplyAdd(V::Load(D + 2 * kStride), x0, V::Load(yj + 2 * kStride));
    x2 = V::Multiply(V::NegativeMultiplyAdd(V::Load(D + 5 * kStride), x1, x2),
                     V::Load(D + 8 * kStride));
    V::Store(yj, x0);
    V::Store(yj + kStride, x1);
    V::Store(yj + 2 * kStride, x2);
    for (int b = diagonal + 1; b < layout.column_starts[j + 1]; ++b) {
      const double* B = block_at(b);
      double* yi = of(layout.rows[b]);
      for (int r = 0; r < 3; ++r, B += kStride, yi += kStride) {
        T sum = V::NegativeMultiplyAdd(V::Load(B), x0, V::Load(yi));
        sum = V::NegativeMultiplyAdd(V::Load(B + 3 * kStride), x1, sum);
        V::Store(yi, V::NegativeMultiplyAdd(V::Load(B + 6 * kStride), x2, sum));
      }
    }
  }
  for (int j = layout.num_nodes - 1; j >= 0; --j) {
    const int diagonal = layout.column_starts[j];
    double* yj = of(j);
    T x0 = V::Load(yj), x1 = V::Load(yj + kStride), x2 = V::Load(yj + 2 * kStride);
    for (int b = diagonal + 1; b < layout.column_starts[j + 1]; ++b) {
      const double* B = block_at(b);
      const double* yi = of(layout.rows[b]);
      for (int r = 0; r < 3; ++r, B += kStride, yi += kStride) {
        const T y_r = V::Load(yi);
        x0 = V::NegativeMultiplyAdd(V::Load(B), y_r, x0);
        x1 = V::NegativeMultiplyAdd(V::Load(B + 3 * kStride), y_r, x1);
        x2 = V::NegativeMultiplyAdd(V::Load(B + 6 * kStride), y_r, x2);
      }
    }
    const double* D = block_at(diagonal);
    x2 = V::Multiply(x2, V::Load(D + 8 * kStride));
    x1 = V::Multiply(V::NegativeMultiplyAdd(V::Load(D + 5 * kStride), x2, x1),
                     V::Load(D + 4 * kStride));
    x0 = V::NegativeMultiplyAdd(V::Load(D + 2 * kStride), x2, x0);
    x0 = V::Multiply(V::NegativeMultiplyAdd(V::Load(D + kStride), x1, x0), V::Load(D));
    V::Store(yj, x0);
    V::Store(yj + kStride, x1);
    V::Store(yj + 2 * kStride, x2);
  }
}

template <typename V>
void Solve(const Kernels::Layout& layout, int count, const double* L, double* y) {
  for (int first = 0; first < count; first += V::kWidth) SolvePart<V>(layout, L + first, y + first);
}

template <typename V>
void SolveColumns(const Kernels::Layout& layout, const double* L, const int* touched, int count,
                  const int* slots, double* X) {
  using T = typename V::Type;
  constexpr int kRow = Kernels::kColumns, kVectors = 3;
  for (int t = 0; t < count; ++t) {
    const int k = touched[t];
    const double* D = L + std::size_t(Kernels::kBlock) * layout.column_starts[k];
    double* Xk = X + std::size_t(Kernels::kPanel) * slots[k];
    // three vectors of columns at a time
    for (int part = 0; part < kRow; part += kVectors * V::kWidth) {
      const T i0 = V::Set(D[0]), l10 = V::Set(D[kStride]), l20 = V::Set(D[2 * kStride]),
              i1 = V::Set(D[4 * kStride]), l21 = V::Set(D[5 * kStride]),
              i2 = V::Set(D[8 * kStride]);
      T x0[kVectors], x1[kVectors], x2[kVectors];
      double* to = Xk + part;
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v, to += V::kWidth) {
        x0[v] = V::Multiply(V::Load(to), i0);
        x1[v] = V::Multiply(V::NegativeMultiplyAdd(l10, x0[v], V::Load(to + kRow)), i1);
        x2[v] = V::NegativeMultiplyAdd(l20, x0[v], V::Load(to + 2 * kRow));
        x2[v] = V::Multiply(V::NegativeMultiplyAdd(l21, x1[v], x2[v]), i2);
        V::Store(to, x0[v]);
        V::Store(to + kRow, x1[v]);
        V::Store(to + 2 * kRow, x2[v]);
      }
      for (int b = layout.column_starts[k] + 1; b < layout.column_starts[k + 1]; ++b) {
        const double* B = L + std::size_t(Kernels::kBlock) * b;
        double* Xi = X + std::size_t(Kernels::kPanel) * slots[layout.rows[b]] + part;
        for (int r = 0; r < 3; ++r, B += kStride, Xi += kRow) {
          const T b0 = V::Set(B[0]), b1 = V::Set(B[3 * kStride]), b2 = V::Set(B[6 * kStride]);
#pragma GCC unroll 3
          for (int v = 0; v < kVectors; ++v) {
            T sum = V::NegativeMultiplyAdd(b0, x0[v], V::Load(Xi + v * V::kWidth));
            sum = V::NegativeMultiplyAdd(b1, x1[v], sum);
            V::Store(Xi + v * V::kWidth, V::NegativeMultiplyAdd(b2, x2[v], sum));
          }
        }
      }
    }
  }
}

// N rows of three vectors of accumulators, named individually by recursion: an array would be
// placed in memory.
template <typename V, int N>
struct Rows {
  typename V::Type x0, x1, x2;
  Rows<V, N - 1> rest;

  void Load(const double* C) {
    x0 = V::Load(C), x1 = V::Load(C + V::kWidth), x2 = V::Load(C + 2 * V::kWidth);
    rest.Load(C + Kernels::kColumns);
  }
  template <bool kSubtract>
  void Update(const double* a, typename V::Type b0, typename V::Type b1, typename V::Type b2) {
    const typename V::Type value = V::Set(*a);
    if constexpr (kSubtract) {
      x0 = V::NegativeMultiplyAdd(value, b0, x0);
      x1 = V::NegativeMultiplyAdd(value, b1, x1);
      x2 = V::NegativeMultiplyAdd(value, b2, x2);
    } else {
      x0 = V::MultiplyAdd(value, b0, x0);
      x1 = V::MultiplyAdd(value, b1, x1);
      x2 = V::MultiplyAdd(value, b2, x2);
    }
    rest.template Update<kSubtract>(a + 1, b0, b1, b2);
  }
  void Store(double* C) const {
    V::Store(C, x0), V::Store(C + V::kWidth, x1), V::Store(C + 2 * V::kWidth, x2);
    rest.Store(C + Kernels::kColumns);
  }
};

template <typename V>
struct Rows<V, 0> {
  void Load(const double*) {}
  template <bool kSubtract>
  void Update(const double*, typename V::Type, typename V::Type, typename V::Type) {}
  void Store(double*) const {}
};

template <typename V, bool kSubtract>
void UpdateSquare(const Kernels::Pair* pairs, int count, const double* A, const double* B,
                  double* C) {
  constexpr int kRow = Kernels::kColumns;
  // as many accumulators as there are registers for
  constexpr int kRows = V::kWidth == 8 ? 8 : 4;
  for (int i = 0; i < kRow; i += kRows) {
    for (int part = 0; part < kRow; part += 3 * V::kWidth) {
      Rows<V, kRows> rows;
      rows.Load(C + i * kRow + part);
      for (int p = 0; p < count; ++p) {
        const double* a = A + std::size_t(Kernels::kPanel) * pairs[p].a + i;
        const double* b = B + std::size_t(Kernels::kPanel) * pairs[p].b + part;
        for (int r = 0; r < 3; ++r, a += kRow, b += kRow) {
          rows.template Update<kSubtract>(a, V::Load(b), V::Load(b + V::kWidth),
                                          V::Load(b + 2 * V::kWidth));
        }
      }
      rows.Store(C + i * kRow + part);
    }
  }
}

template <typename V>
void SubtractRow(const double* row, double factor, double* from) {
  for (int v = 0; v < Kernels::kColumns; v += V::kWidth) {
    V::Store(from + v, V::NegativeMultiplyAdd(V::Set(factor), V::Load(row + v), V::Load(from + v)));
  }
}

template <typename V>
void ScaleRow(double factor, double* row) {
  for (int v = 0; v < Kernels::kColumns; v += V::kWidth)
    V::Store(row + v, V::Multiply(V::Set(factor), V::Load(row + v)));
}

template <typename V>
bool FactorSquare(double* C) {
  constexpr int kRow = Kernels::kColumns;
  for (int r = 0; r < kRow; ++r) {
    double* row = C + r * kRow;
    const double pivot = row[r];
    if (!(pivot > 0)) return false;
    const double inverse = V::Invert(V::RootOf(pivot));
    ScaleRow<V>(inverse, row);
    row[r] = inverse;
    for (int s = r + 1; s < kRow; ++s) SubtractRow<V>(row, row[s], C + s * kRow);
  }
  return true;
}

template <typename V>
void SolveSquare(const double* U, double* B) {
  constexpr int kRow = Kernels::kColumns;
  for (int r = 0; r < kRow; ++r) {
    double* row = B + r * kRow;
    ScaleRow<V>(U[r * kRow + r], row);
    for (int s = r + 1; s < kRow; ++s) SubtractRow<V>(row, U[r * kRow + s], B + s * kRow);
  }
}

}  // namespace
