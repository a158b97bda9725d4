#include "solvers/nonsmooth/block_masses.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {
namespace {

// Inverse of a symmetric 3 × 3 matrix by cofactors; false when it is not positive definite.
bool InvertThree(const double* A, double* inverse) {
  const double a = A[0], b = A[3], c = A[6], d = A[4], e = A[7], f = A[8];
  const double C00 = d * f - e * e, C01 = c * e - b * f, C02 = b * e - c * d;
  const double determinant = a * C00 + b * C01 + c * C02;
  if (!(a > 0) || !(a * d - b * b > 0) || !(determinant > 0) || !std::isfinite(determinant))
    return false;
  const double scale = 1 / determinant;
  inverse[0] = scale * C00;
  inverse[1] = inverse[3] = scale * C01;
  inverse[2] = inverse[6] = scale * C02;
  inverse[4] = scale * (a * f - c * c);
  inverse[5] = inverse[7] = scale * (b * c - a * e);
  inverse[8] = scale * (a * d - b * b);
  return true;
}

}  // namespace

void BlockMasses::Clear() {
  parts_.clear();
  dense_.clear();
  inverses_.clear();
  values_.clear();
  size_ = 0;
}

bool BlockMasses::Append(int size, const double* H) {
  bool halves = size == 6;
  for (int i = 0; i < 3 && halves; ++i) {
    for (int j = 3; j < 6; ++j) halves = halves && H[6 * i + j] == 0 && H[6 * j + i] == 0;
  }
  if (size == 3 || halves) {
    for (int first = 0; first < size; first += 3) {
      parts_.push_back({size_ + first, 3, inverses_.size(), values_.size(), true});
      for (int j = 0; j < 3; ++j) {
        for (int i = 0; i < 3; ++i) values_.push_back(H[size * (first + j) + first + i]);
      }
      inverses_.resize(inverses_.size() + 9);
      if (!InvertThree(&values_[parts_.back().values], &inverses_[parts_.back().inverse]))
        return false;
    }
  } else {
    const std::size_t n = size;
    parts_.push_back({size_, size, inverses_.size(), values_.size(), false, dense_.size()});
    values_.insert(values_.end(), H, H + n * n);
    // the factor of [H; 1] is [L; L⁻ᵀ]
    panel_.assign(2 * n * n, 0.0);
    for (std::size_t j = 0; j < n; ++j) {
      std::copy_n(H + n * j, n, &panel_[2 * n * j]);
      panel_[2 * n * j + n + j] = 1;
    }
    if (FactorPanel(2 * size, size, panel_.data(), 2 * size) >= 0) return false;
    for (std::size_t j = 0; j < n; ++j)
      inverses_.insert(inverses_.end(), &panel_[2 * n * j], &panel_[2 * n * j] + n);
    dense_.resize(dense_.size() + n * n);
    double* inverse = &dense_[parts_.back().dense];
    NegateLowerTrapezoid(size, size, size, &panel_[n], 2 * size, inverse, size);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = j; i < n; ++i)
        inverse[n * i + j] = inverse[n * j + i] = -inverse[n * j + i];
    }
  }
  size_ += size;
  return true;
}

void BlockMasses::SolvePart(const Part& part, int columns, double* X) const {
  const double* inverse = &inverses_[part.inverse];
  for (int c = 0; c < columns; ++c, X += part.size) {
    if (!part.is_inverse) {
      SolveLower(part.size, inverse, part.size, X);
      SolveLowerTransposed(part.size, inverse, part.size, X);
      continue;
    }
    const double x = X[0], y = X[1], z = X[2];
    for (int r = 0; r < 3; ++r) X[r] = inverse[r] * x + inverse[3 + r] * y + inverse[6 + r] * z;
  }
}

void BlockMasses::Solve(std::span<double> z) const {
  for (const Part& part : parts_) {
    if (part.is_inverse) {
      SolvePart(part, 1, &z[part.first]);
      continue;
    }
    product_.resize(part.size);
    MultiplySymmetric(part.size, &dense_[part.dense], part.size, &z[part.first], product_.data());
    std::copy(product_.begin(), product_.end(), &z[part.first]);
  }
}

void BlockMasses::Multiply(std::span<const double> x, std::span<double> y) const {
  for (const Part& part : parts_) {
    const double* H = &values_[part.values];
    if (!part.is_inverse) {
      MultiplySymmetric(part.size, H, part.size, &x[part.first], &y[part.first]);
      continue;
    }
    const double* a = &x[part.first];
    for (int r = 0; r < 3; ++r) y[part.first + r] = H[r] * a[0] + H[3 + r] * a[1] + H[6 + r] * a[2];
  }
}

void BlockMasses::Shift(std::span<const double> shift) {
  for (const Part& part : parts_) {
    if (!part.is_inverse) continue;
    double H[9];
    std::copy_n(&values_[part.values], 9, H);
    for (int r = 0; r < 3; ++r) H[4 * r] += shift[part.first + r];
    InvertThree(H, &inverses_[part.inverse]);
  }
}

}  // namespace pliant::solvers
