#include "solvers/nonsmooth/assembled_product.h"

#include <algorithm>
#include <numeric>

namespace pliant::solvers {

void AssembledProduct::Begin(const BlockMasses& H) {
  H_ = &H;
  part_of_.resize(H.size());
  for (std::size_t p = 0; p < H.parts().size(); ++p) {
    const BlockMasses::Part& part = H.parts()[p];
    std::fill_n(part_of_.begin() + part.first, part.size, static_cast<int>(p));
  }
  rows_.clear();
  touches_.clear();
  J_.clear();
}

void AssembledProduct::AddRows(int height) {
  const int first = rows_.empty() ? 0 : rows_.back().first + rows_.back().height;
  rows_.push_back({first, height, static_cast<int>(touches_.size()), 0});
}

void AssembledProduct::AddEntry(int first, int columns, const double* values, int row_step,
                                int column_step) {
  Rows& rows = rows_.back();
  for (int c = 0; c < columns; ++c) {
    const int p = part_of_[first + c];
    const BlockMasses::Part& part = H_->parts()[p];
    int t = rows.first_touch;
    while (t < rows.first_touch + rows.num_touches && touches_[t].part != p) ++t;
    if (t == rows.first_touch + rows.num_touches) {
      ++rows.num_touches;
      touches_.push_back({static_cast<int>(rows_.size()) - 1, p, J_.size(), 0});
      J_.resize(J_.size() + std::size_t(rows.height) * part.size, 0.0);
    }
    double* J = &J_[touches_[t].J];
    for (int r = 0; r < rows.height; ++r)
      J[r * part.size + first + c - part.first] += values[r * row_step + c * column_step];
  }
}

void AssembledProduct::Finish(SparseMatrix* matrix) {
  // H⁻¹ Jᵀ, and the rows that touch each part
  T_.assign(J_.begin(), J_.end());
  starts_.assign(H_->parts().size() + 1, 0);
  for (Touch& touch : touches_) {
    touch.T = touch.J;
    H_->SolvePart(H_->parts()[touch.part], rows_[touch.rows].height, &T_[touch.T]);
    ++starts_[touch.part + 1];
  }
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  touching_.resize(touches_.size());
  place_.assign(starts_.begin(), starts_.end());
  for (std::size_t t = 0; t < touches_.size(); ++t)
    touching_[place_[touches_[t].part]++] = static_cast<int>(t);

  matrix->starts.assign(1, 0);
  matrix->columns.clear();
  matrix->values.clear();
  place_.assign(rows_.size(), -1);
  for (const Rows& mine : rows_) {
    neighbours_.clear();
    sums_.clear();
    for (int t = mine.first_touch; t < mine.first_touch + mine.num_touches; ++t) {
      const Touch& touch = touches_[t];
      const int size = H_->parts()[touch.part].size;
      for (int k = starts_[touch.part]; k < starts_[touch.part + 1]; ++k) {
        const Touch& other = touches_[touching_[k]];
        const int height = rows_[other.rows].height;
        if (place_[other.rows] < 0) {
          place_[other.rows] = static_cast<int>(sums_.size());
          neighbours_.push_back(other.rows);
          sums_.resize(sums_.size() + std::size_t(mine.height) * height, 0.0);
        }
        double* sum = &sums_[place_[other.rows]];
        for (int i = 0; i < mine.height; ++i) {
          for (int j = 0; j < height; ++j) {
            const double *a = &J_[touch.J + std::size_t(i) * size],
                         *b = &T_[other.T + std::size_t(j) * size];
            double value = 0;
            for (int c = 0; c < size; ++c) value += a[c] * b[c];
            sum[i * height + j] += value;
          }
        }
      }
    }
    // rows without entries still get a diagonal block
    const int me = static_cast<int>(&mine - rows_.data());
    if (place_[me] < 0) {
      place_[me] = static_cast<int>(sums_.size());
      neighbours_.push_back(me);
      sums_.resize(sums_.size() + std::size_t(mine.height) * mine.height, 0.0);
    }
    std::sort(neighbours_.begin(), neighbours_.end());
    for (int i = 0; i < mine.height; ++i) {
      for (const int other : neighbours_) {
        const int height = rows_[other].height;
        for (int j = 0; j < height; ++j) {
          matrix->columns.push_back(rows_[other].first + j);
          matrix->values.push_back(sums_[place_[other] + i * height + j]);
        }
      }
      matrix->starts.push_back(static_cast<int>(matrix->columns.size()));
    }
    for (const int other : neighbours_) place_[other] = -1;
  }
}

}  // namespace pliant::solvers
