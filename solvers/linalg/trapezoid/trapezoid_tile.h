#pragma once

// The inner kernel of the factorisation, written once for every vector width. Included by one
// source file per width, each with its own compiler flags, inside an anonymous namespace: nothing
// here may be shared between them.
//
// V wraps a vector: Number, width, Load(p), LoadPart(p, n), Store, StorePart, Broadcast(p), and
// NegativeMultiplyAdd(a, b, c) = c − a b with one rounding. Every element of C is a chain of such
// steps in ascending k, so all widths give the same bits.

#include <cstddef>

namespace {

// N columns of R vectors of accumulators, named individually by recursion: an array would be placed
// in memory.
template <typename V, int R, int N>
struct Columns {
  typename V::Type x0, x1, x2;
  Columns<V, R, N - 1> rest;

  void Load(const typename V::Number* C, std::ptrdiff_t ldc, int last) {
    x0 = R == 1 ? V::LoadPart(C, last) : V::Load(C);
    if constexpr (R == 2) x1 = V::LoadPart(C + V::kWidth, last);
    if constexpr (R == 3) {
      x1 = V::Load(C + V::kWidth);
      x2 = V::LoadPart(C + 2 * V::kWidth, last);
    }
    rest.Load(C + ldc, ldc, last);
  }
  void Update(typename V::Type a0, typename V::Type a1, typename V::Type a2,
              const typename V::Number* B) {
    const typename V::Type b = V::Broadcast(B);
    x0 = V::NegativeMultiplyAdd(a0, b, x0);
    if constexpr (R > 1) x1 = V::NegativeMultiplyAdd(a1, b, x1);
    if constexpr (R > 2) x2 = V::NegativeMultiplyAdd(a2, b, x2);
    rest.Update(a0, a1, a2, B + 1);
  }
  void Store(typename V::Number* C, std::ptrdiff_t ldc, int last) const {
    if constexpr (R == 1) V::StorePart(C, x0, last);
    if constexpr (R > 1) V::Store(C, x0);
    if constexpr (R == 2) V::StorePart(C + V::kWidth, x1, last);
    if constexpr (R == 3) {
      V::Store(C + V::kWidth, x1);
      V::StorePart(C + 2 * V::kWidth, x2, last);
    }
    rest.Store(C + ldc, ldc, last);
  }
};

template <typename V, int R>
struct Columns<V, R, 0> {
  void Load(const typename V::Number*, std::ptrdiff_t, int) {}
  void Update(typename V::Type, typename V::Type, typename V::Type, const typename V::Number*) {}
  void Store(typename V::Number*, std::ptrdiff_t, int) const {}
};

// C −= A Bᵀ, or C ← −A Bᵀ, on (R − 1) · width + last rows and N columns.
template <typename V, int R, int N, bool kOverwrite>
void UpdateTile(int k, const typename V::Number* A, std::ptrdiff_t lda, const typename V::Number* B,
                std::ptrdiff_t ldb, typename V::Number* C, std::ptrdiff_t ldc, int last) {
  Columns<V, R, N> columns{};
  if constexpr (!kOverwrite) columns.Load(C, ldc, last);
  for (int p = 0; p < k; ++p, A += lda, B += ldb) {
    typename V::Type a0, a1{}, a2{};
    if constexpr (R == 1) {
      a0 = V::LoadPart(A, last);
    } else if constexpr (R == 2) {
      a0 = V::Load(A);
      a1 = V::LoadPart(A + V::kWidth, last);
    } else {
      a0 = V::Load(A);
      a1 = V::Load(A + V::kWidth);
      a2 = V::LoadPart(A + 2 * V::kWidth, last);
    }
    columns.Update(a0, a1, a2, B);
  }
  columns.Store(C, ldc, last);
}

template <typename V, int N, bool kOverwrite>
void UpdateStrip(int m, int k, const typename V::Number* A, std::ptrdiff_t lda,
                 const typename V::Number* B, std::ptrdiff_t ldb, typename V::Number* C,
                 std::ptrdiff_t ldc) {
  constexpr int kTall = 3 * V::kWidth;
  int i = 0;
  for (; i + kTall <= m; i += kTall)
    UpdateTile<V, 3, N, kOverwrite>(k, A + i, lda, B, ldb, C + i, ldc, V::kWidth);
  const int left = m - i;
  if (left > 2 * V::kWidth) {
    UpdateTile<V, 3, N, kOverwrite>(k, A + i, lda, B, ldb, C + i, ldc, left - 2 * V::kWidth);
  } else if (left > V::kWidth) {
    UpdateTile<V, 2, N, kOverwrite>(k, A + i, lda, B, ldb, C + i, ldc, left - V::kWidth);
  } else if (left > 0) {
    UpdateTile<V, 1, N, kOverwrite>(k, A + i, lda, B, ldb, C + i, ldc, left);
  }
}

// Updates the remaining columns, fewer than a whole strip.
template <typename V, int N, bool kOverwrite>
void UpdateLastStrip(int columns, int m, int k, const typename V::Number* A, std::ptrdiff_t lda,
                     const typename V::Number* B, std::ptrdiff_t ldb, typename V::Number* C,
                     std::ptrdiff_t ldc) {
  if constexpr (N > 0) {
    if (columns == N) return UpdateStrip<V, N, kOverwrite>(m, k, A, lda, B, ldb, C, ldc);
    UpdateLastStrip<V, N - 1, kOverwrite>(columns, m, k, A, lda, B, ldb, C, ldc);
  }
}

template <typename V, int N, bool kOverwrite>
void UpdateTrapezoid(int m, int n, int k, const typename V::Number* A, std::ptrdiff_t lda,
                     typename V::Number* C, std::ptrdiff_t ldc) {
  int j = 0;
  for (; j + N <= n; j += N)
    UpdateStrip<V, N, kOverwrite>(m - j, k, A + j, lda, A + j, lda, C + j * ldc + j, ldc);
  UpdateLastStrip<V, N - 1, kOverwrite>(n - j, m - j, k, A + j, lda, A + j, lda, C + j * ldc + j,
                                        ldc);
}

template <typename V, int N, bool kOverwrite>
void UpdateRectangle(int m, int n, int k, const typename V::Number* A, std::ptrdiff_t lda,
                     const typename V::Number* B, std::ptrdiff_t ldb, typename V::Number* C,
                     std::ptrdiff_t ldc) {
  int j = 0;
  for (; j + N <= n; j += N)
    UpdateStrip<V, N, kOverwrite>(m, k, A, lda, B + j, ldb, C + j * ldc, ldc);
  UpdateLastStrip<V, N - 1, kOverwrite>(n - j, m, k, A, lda, B + j, ldb, C + j * ldc, ldc);
}

}  // namespace
