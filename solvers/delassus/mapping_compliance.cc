#include "solvers/delassus/mapping_compliance.h"

#include <algorithm>
#include <cmath>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {

int MappingCompliance::Build(std::span<const Block> blocks, std::span<const Entry> entries,
                             std::span<const double> values) {
  num_blocks_ = blocks.size();
  num_kept_ = 0;
  if (parts_.size() < blocks.size()) parts_.resize(blocks.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    Part& part = parts_[b];
    part.new_H.assign(std::size_t(blocks[b].num_rows) * blocks[b].size, 0.0);
  }
  for (const Entry& entry : entries) {
    const int row = entry.row - blocks[entry.block].first_row;
    double* H = parts_[entry.block].new_H.data();
    const double* from = &values[entry.values];
    for (int j = 0; j < entry.columns; ++j, from += entry.height) {
      double* to = H + std::size_t(entry.first + j) * blocks[entry.block].num_rows + row;
      for (int r = 0; r < entry.height; ++r) to[r] += from[r];
    }
  }

  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Block& block = blocks[b];
    Part& part = parts_[b];
    const int n = block.size, m = block.num_rows;
    const std::span<const double> A(block.A, std::size_t(n) * n);
    const bool is_same = part.size == n && part.num_rows == m && std::ranges::equal(A, part.A) &&
                         part.H == part.new_H;
    part.size = n;
    part.num_rows = m;
    part.first_row = block.first_row;
    part.first_velocity = block.first_velocity;
    if (is_same) {
      ++num_kept_;
      continue;
    }
    part.A.assign(A.begin(), A.end());
    part.H.swap(part.new_H);

    // eliminating A from [A; H] leaves H L⁻ᵀ below, at the price of a taller panel
    const std::size_t height = std::size_t(n) + m;
    part.panel.resize(height * n);
    for (int j = 0; j < n; ++j) {
      double* column = &part.panel[j * height];
      std::copy_n(block.A + std::size_t(j) * n + j, n - j, column + j);
      std::copy_n(&part.H[std::size_t(j) * m], m, column + n);
    }
    if (FactorPanel(static_cast<int>(height), n, part.panel.data(), static_cast<int>(height)) >=
        0) {
      part.A.clear();  // nothing to reuse
      return static_cast<int>(b);
    }
    part.W.resize(std::size_t(m) * m);
    NegateLowerTrapezoid(m, m, n, part.panel.data() + n, static_cast<int>(height), part.W.data(),
                         m);
    for (int j = 0; j < m; ++j) {
      for (int i = j; i < m; ++i) {
        const double value = -part.W[std::size_t(j) * m + i];
        part.W[std::size_t(j) * m + i] = value;
        part.W[std::size_t(i) * m + j] = value;
      }
    }
  }
  return -1;
}

void MappingCompliance::AddColumns(int block, int row, int count, const double* f,
                                   double* y) const {
  const Part& part = parts_[block];
  double negative[6];
  for (int r = 0; r < count; ++r) negative[r] = -f[r];
  SubtractMatrixVector(part.num_rows, count,
                       &part.W[std::size_t(row - part.first_row) * part.num_rows], part.num_rows,
                       negative, y + part.first_row);
}

void MappingCompliance::CalcVelocityChange(int b, std::span<const double> F,
                                           std::span<double> dv) const {
  const Part& part = parts_[b];
  double* x = dv.data() + part.first_velocity;
  std::fill_n(x, part.size, 0.0);
  SubtractTransposedMatrixVector(part.num_rows, part.size, part.H.data(), part.num_rows,
                                 F.data() + part.first_row, x);
  const int height = part.size + part.num_rows;
  for (int i = 0; i < part.size; ++i) x[i] = -x[i];
  SolveLower(part.size, part.panel.data(), height, x);
  SolveLowerTransposed(part.size, part.panel.data(), height, x);
}

void MappingCompliance::CalcVelocityChange(std::span<const double> F, std::span<double> dv) const {
  for (std::size_t b = 0; b < num_blocks_; ++b) CalcVelocityChange(static_cast<int>(b), F, dv);
}

void MappingCompliance::CalcImpulse(std::span<const double> F, std::span<double> impulse) const {
  for (std::size_t b = 0; b < num_blocks_; ++b) {
    const Part& part = parts_[b];
    double* x = impulse.data() + part.first_velocity;
    std::fill_n(x, part.size, 0.0);
    SubtractTransposedMatrixVector(part.num_rows, part.size, part.H.data(), part.num_rows,
                                   F.data() + part.first_row, x);
    for (int i = 0; i < part.size; ++i) x[i] = -x[i];
  }
}

void MappingCompliance::AddMapped(std::span<const double> dv, std::span<double> y) const {
  for (std::size_t b = 0; b < num_blocks_; ++b) {
    const Part& part = parts_[b];
    scratch_.assign(dv.begin() + part.first_velocity, dv.begin() + part.first_velocity + part.size);
    for (double& x : scratch_) x = -x;
    SubtractMatrixVector(part.num_rows, part.size, part.H.data(), part.num_rows, scratch_.data(),
                         y.data() + part.first_row);
  }
}

}  // namespace pliant::solvers
