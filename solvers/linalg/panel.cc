#include "solvers/linalg/panel.h"

#include <algorithm>
#include <immintrin.h>

#include "solvers/linalg/vector_of.h"

namespace pliant::solvers {
namespace {

// Blocks are scattered over A, so they are prefetched this many blocks ahead.
constexpr std::size_t kPrefetchDistance = 12;

template <int kToBeWritten>
void Fetch(std::span<const SupernodeLayout::Block> blocks, std::size_t k, const BlockMatrix& A) {
  const double* later =
      &A.values[9 * std::size_t(blocks[std::min(k + kPrefetchDistance, blocks.size() - 1)].block)];
  __builtin_prefetch(later, kToBeWritten);
  __builtin_prefetch(later + 8, kToBeWritten);
}

// Copies a 3 × 3 block to three columns that are `stride` numbers apart.
void PutBlock(const double* from, double* to, std::size_t stride) {
  for (int c = 0; c < 3; ++c) {
    _mm_storeu_pd(to + c * stride, _mm_loadu_pd(from + 3 * c));
    to[c * stride + 2] = from[3 * c + 2];
  }
}

void PutBlock(const double* from, float* to, std::size_t stride) {
  for (int c = 0; c < 3; ++c)
    for (int r = 0; r < 3; ++r) to[c * stride + r] = static_cast<float>(from[3 * c + r]);
}

void PutTransposedBlock(const double* from, double* to, std::size_t stride) {
  for (int c = 0; c < 3; ++c) {
    _mm_storeu_pd(to + c * stride, _mm_set_pd(from[3 + c], from[c]));
    to[c * stride + 2] = from[6 + c];
  }
}

void PutTransposedBlock(const double* from, float* to, std::size_t stride) {
  for (int c = 0; c < 3; ++c)
    for (int r = 0; r < 3; ++r) to[c * stride + r] = static_cast<float>(from[3 * r + c]);
}

void GetBlock(const double* from, std::size_t stride, double* to) {
  for (int c = 0; c < 3; ++c) {
    _mm_storeu_pd(to + 3 * c, _mm_loadu_pd(from + c * stride));
    to[3 * c + 2] = from[c * stride + 2];
  }
}

void GetTransposedBlock(const double* from, std::size_t stride, double* to) {
  for (int c = 0; c < 3; ++c) {
    _mm_storeu_pd(to + 3 * c, _mm_set_pd(from[stride + c], from[c]));
    to[3 * c + 2] = from[2 * stride + c];
  }
}

// to ← to + from, for n numbers in each of kColumns columns.
template <int kColumns, typename T>
[[gnu::always_inline]] inline void AddColumns(int n, const T* from, std::size_t from_leading, T* to,
                                              std::size_t to_leading) {
  using V = VectorOf<T>;
  int i = 0;
  for (; i + V::kWidth <= n; i += V::kWidth) {
    for (int c = 0; c < kColumns; ++c) {
      T* place = to + c * to_leading + i;
      V::Store(place, V::Add(V::Load(place), V::Load(from + c * from_leading + i)));
    }
  }
  for (int c = 0; c < kColumns; ++c)
    V::AddFirst(n - i, from + c * from_leading + i, to + c * to_leading + i);
}

}  // namespace

template <typename T>
void FillColumns(const SupernodeLayout::Supernode& node, int begin, int end,
                 std::span<const SupernodeLayout::Block> blocks, const BlockMatrix& A, T* panels) {
  const std::size_t height = node.height();
  std::fill_n(panels + node.panel + 3 * begin * height, 3 * (end - begin) * height, T{0});
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    Fetch<0>(blocks, k, A);
    const auto& [block, transposed, offset] = blocks[k];
    const double* from = &A.values[9 * std::size_t(block)];
    if (transposed) {
      PutTransposedBlock(from, panels + offset, height);
    } else {
      PutBlock(from, panels + offset, height);
    }
  }
}

void AddBlocks(const SupernodeLayout::Supernode& node,
               std::span<const SupernodeLayout::Block> blocks, const BlockMatrix& A,
               double* panels) {
  const std::size_t height = node.height();
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    Fetch<0>(blocks, k, A);
    const auto& [block, transposed, offset] = blocks[k];
    const double* from = &A.values[9 * std::size_t(block)];
    for (int c = 0; c < 3; ++c)
      for (int r = 0; r < 3; ++r)
        panels[offset + c * height + r] += from[transposed ? 3 * r + c : 3 * c + r];
  }
}

void ReadBlocks(const SupernodeLayout::Supernode& node,
                std::span<const SupernodeLayout::Block> blocks, const double* panels,
                BlockMatrix* A) {
  const std::size_t height = node.height();
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    Fetch<1>(blocks, k, *A);
    const auto& [block, transposed, offset] = blocks[k];
    double* to = &A->values[9 * std::size_t(block)];
    if (transposed) {
      GetTransposedBlock(panels + offset, height, to);
    } else {
      GetBlock(panels + offset, height, to);
    }
  }
}

template <typename T>
void ExtendAdd(const PanelRows& rows, const UpdateMatrixOf<T>& update, int begin, int end,
               int first, const UpdateMatrixOf<T>& target) {
  const int m = static_cast<int>(rows.places.size());
  for (int b = begin; b < end; ++b) {
    const T* source = update.numbers + 3 * b * update.leading;
    T* column = target.numbers + 3 * std::size_t(rows.places[b] - first) * target.leading;
    for (int a = b; a < m; a = rows.run_end[a]) {
      const int n = 3 * (rows.run_end[a] - a);
      const T* from = source + 3 * a;
      T* to = column + 3 * (rows.places[a] - first);
      AddColumns<3>(n, from, update.leading, to, target.leading);
    }
  }
}

template <typename T>
void AddTo(int n, const T* from, T* to) {
  AddColumns<1>(n, from, 0, to, 0);
}

template void FillColumns(const SupernodeLayout::Supernode&, int, int,
                          std::span<const SupernodeLayout::Block>, const BlockMatrix&, double*);
template void FillColumns(const SupernodeLayout::Supernode&, int, int,
                          std::span<const SupernodeLayout::Block>, const BlockMatrix&, float*);
template void ExtendAdd(const PanelRows&, const UpdateMatrixOf<double>&, int, int, int,
                        const UpdateMatrixOf<double>&);
template void ExtendAdd(const PanelRows&, const UpdateMatrixOf<float>&, int, int, int,
                        const UpdateMatrixOf<float>&);
template void AddTo(int, const double*, double*);
template void AddTo(int, const float*, float*);

}  // namespace pliant::solvers
