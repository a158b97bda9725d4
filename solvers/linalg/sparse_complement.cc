#include "solvers/linalg/sparse_complement.h"

#include <algorithm>
#include <bit>
#include <immintrin.h>

namespace pliant::solvers {
namespace {

// Adds three columns of three numbers to nine in a row; reads a fourth one of each column.
void AddToBlock(const double* columns, std::size_t stride, double* block) {
  const __m256d c0 = _mm256_loadu_pd(columns), c1 = _mm256_loadu_pd(columns + stride),
                c2 = _mm256_loadu_pd(columns + 2 * stride);
  const __m256d first = _mm256_blend_pd(c0, _mm256_permute4x64_pd(c1, 0x00), 0b1000);
  const __m256d second = _mm256_blend_pd(_mm256_permute4x64_pd(c1, 0b1001),
                                         _mm256_permute4x64_pd(c2, 0b0100'0000), 0b1100);
  _mm256_storeu_pd(block, _mm256_add_pd(_mm256_loadu_pd(block), first));
  _mm256_storeu_pd(block + 4, _mm256_add_pd(_mm256_loadu_pd(block + 4), second));
  block[8] += columns[2 * stride + 2];
}

}  // namespace

void SparseComplement::LayOut(const BlockPattern& A, const SupernodeLayout& layout) {
  FindPattern(A, layout);
  FindOrder(layout);
  matrix_.values.resize(9 * pattern_.rows.size());
}

void SparseComplement::FindPattern(const BlockPattern& A, const SupernodeLayout& layout) {
  const std::vector<int>& participants = layout.participants();
  const int n = static_cast<int>(participants.size());
  const std::size_t words = static_cast<std::size_t>(n) / 64 + 1;
  index_.assign(A.num_nodes, -1);
  for (int i = 0; i < n; ++i) index_[participants[i]] = i;
  const auto bit = [](int i) { return std::uint64_t{1} << (i % 64); };

  // a row of bits for each column
  bits_.assign(n * words, 0);
  for (int j = 0; j < n; ++j) {
    const int node = participants[j];
    for (int k = A.column_starts[node]; k < A.column_starts[node + 1]; ++k) {
      const int i = index_[A.rows[k]];
      if (i >= 0) bits_[j * words + i / 64] |= bit(i);
    }
  }
  for (const int c : layout.children(layout.root())) {
    const std::span<const int> clique = layout.relative(layout.supernodes()[c]);
    if (clique.empty()) continue;
    const int first = clique.front() / 64, end = clique.back() / 64 + 1;
    clique_.assign(words, 0);
    for (const int i : clique) clique_[i / 64] |= bit(i);
    for (const int j : clique)
      for (int w = first; w < end; ++w) bits_[j * words + w] |= clique_[w];
  }

  pattern_.num_nodes = n;
  pattern_.column_starts.assign(1, 0);
  pattern_.rows.clear();
  for (int j = 0; j < n; ++j) {
    for (std::size_t w = j / 64; w < words; ++w) {
      std::uint64_t rest = bits_[j * words + w];
      // what is above the diagonal is the mirror image of what is kept
      if (w == static_cast<std::size_t>(j) / 64) rest &= ~(bit(j) - 1);
      for (; rest != 0; rest &= rest - 1)
        pattern_.rows.push_back(static_cast<int>(64 * w) + std::countr_zero(rest));
    }
    pattern_.column_starts.push_back(static_cast<int>(pattern_.rows.size()));
  }

  copies_.clear();
  for (int j = 0; j < n; ++j) {
    const int node = participants[j];
    int to = pattern_.column_starts[j];
    for (int k = A.column_starts[node]; k < A.column_starts[node + 1]; ++k) {
      const int i = index_[A.rows[k]];
      if (i < 0) continue;
      while (pattern_.rows[to] != i) ++to;
      copies_.push_back({k, to});
    }
  }
}

void SparseComplement::FindOrder(const SupernodeLayout& layout) {
  const int n = pattern_.num_nodes;
  const auto rank = [&](int position) { return layout.rank(layout.node(position)); };
  // does every elimination come before those of the participants that it couples?
  bool is_natural = true;
  for (const auto& node : layout.supernodes()) {
    const int last = rank(node.first + node.columns - 1);
    for (const int row : layout.rows(node))
      is_natural = is_natural && (row < layout.num_nodes() - n || rank(row) > last);
  }
  std::vector<char> is_last(n, 0);
  if (!is_natural) {
    for (const int c : layout.children(layout.root()))
      for (const int i : layout.relative(layout.supernodes()[c])) is_last[i] = 1;
  }
  order_.resize(n);
  for (int i = 0; i < n; ++i) order_[i] = i;
  std::sort(order_.begin(), order_.end(), [&](int i, int j) {
    if (is_last[i] != is_last[j]) return is_last[i] < is_last[j];
    return layout.rank(layout.participants()[i]) < layout.rank(layout.participants()[j]);
  });
}

double SparseComplement::CalcFill() const {
  const double n = pattern_.num_nodes;
  return 2 * static_cast<double>(pattern_.rows.size()) / (n * (n + 1));
}

void SparseComplement::Start(const BlockMatrix& A) {
  std::fill(matrix_.values.begin(), matrix_.values.end(), 0.0);
  for (const auto& [from, to] : copies_)
    std::copy_n(&A.values[9 * std::size_t(from)], 9, &matrix_.values[9 * std::size_t(to)]);
}

void SparseComplement::Add(const SupernodeLayout& layout, const SupernodeLayout::Supernode& child,
                           const double* update) {
  const std::span<const int> clique = layout.relative(child);
  const int m = child.num_rows;
  const std::size_t stride = 3 * static_cast<std::size_t>(m);
  for (int b = 0; b < m; ++b) {
    int k = pattern_.column_starts[clique[b]];
    const double* from = update + 3 * b * (stride + 1);
    // of the diagonal only what is below
    double* diagonal = &matrix_.values[9 * std::size_t(k)];
    for (int c = 0; c < 3; ++c)
      for (int r = c; r < 3; ++r) diagonal[3 * c + r] += from[c * stride + r];
    for (int a = b + 1; a < m; ++a) {
      from += 3;
      while (pattern_.rows[k] != clique[a]) ++k;
      AddToBlock(from, stride, &matrix_.values[9 * std::size_t(k)]);
    }
  }
}

void SparseComplement::Finish() {
  for (int j = 0; j < pattern_.num_nodes; ++j) {
    double* block = &matrix_.values[9 * std::size_t(pattern_.column_starts[j])];
    for (int c = 0; c < 3; ++c)
      for (int r = c + 1; r < 3; ++r) block[3 * r + c] = block[3 * c + r];
  }
}

}  // namespace pliant::solvers
