#include "physics/stepping/smooth/posed_balance.h"

#include <algorithm>

#include "solvers/linalg/block_matrix.h"

namespace pliant::physics {
namespace {

// Adds a symmetric matrix, of which the lower triangle is stored: 9 entries for a block on the
// diagonal, 18 for another block and its transpose.
void AddMatrix(const solvers::BlockMatrix& A, int first, solvers::BlockSum* sum) {
  const solvers::BlockPattern& pattern = *A.pattern;
  for (int j = 0; j < pattern.num_nodes; ++j) {
    for (int k = pattern.column_starts[j]; k < pattern.column_starts[j + 1]; ++k) {
      const int i = pattern.rows[k];
      const double* block = &A.values[9 * std::size_t(k)];
      for (int c = 0; c < 3; ++c) {
        for (int r = 0; r < 3; ++r) {
          const int row = first + 3 * i + r, column = first + 3 * j + c;
          sum->Add(row, column, block[3 * c + r]);
          if (i != j) sum->Add(column, row, block[3 * c + r]);
        }
      }
    }
  }
}

}  // namespace

void PosedBalance::Start(const BlockState&, const BlockInputs&, double h) {
  h_ = h;
}

void PosedBalance::Advance(std::span<const double>, std::span<double>) const {}

void PosedBalance::CalcDifference(std::span<const double>, std::span<const double>,
                                  std::span<double> x) const {
  std::ranges::fill(x, 0.0);
}

void PosedBalance::Place(double, std::span<const double>, std::span<double>, std::span<double> v) {
  v_.assign(v.begin(), v.end());
}

absl::Status PosedBalance::CalcResidual(std::span<const double>, const SpatialColumns&,
                                        std::span<double> residual) {
  step_->CalcMomentumResidual(v_, residual);
  for (double& r : residual) r /= h_;
  return absl::OkStatus();
}

void PosedBalance::AddJacobian(double c, std::span<const double>, const SpatialColumns&, int first,
                               solvers::BlockSum* jacobian) {
  const int n = static_cast<int>(v_.size());
  if (c == 0) {
    diagonal_.resize(n);
    step_->CalcTangentDiagonal(diagonal_);
    for (int i = 0; i < n; ++i) jacobian->Add(first + i, first + i, diagonal_[i]);
    return;
  }
  first_ = first;
  first_entry_ = jacobian->entries.size();
  matrix_ = nullptr;
  // forces that were finite at v have a tangent there; without one, the Jacobian is singular
  NonlinearBalance* nonlinear = step_->abilities().nonlinear;
  if (nonlinear != nullptr && !nonlinear->Linearise(v_, TangentKind::kExact).ok()) return;
  matrix_ = step_->tangent_matrix();
  if (matrix_ != nullptr) return AddMatrix(*matrix_, first, jacobian);
  std::vector<double> unit(n, 0.0);
  column_.resize(n);
  for (int j = 0; j < n; ++j) {
    unit[j] = 1;
    step_->MultiplyTangent(unit, column_);
    unit[j] = 0;
    for (int i = 0; i < n; ++i)
      if (column_[i] != 0) jacobian->Add(first + i, first + j, column_[i]);
  }
}

void PosedBalance::AddTerms(int row, int column, int height, int width, const double* values,
                            int stride, solvers::BlockSum* jacobian) const {
  const int i = (row - first_) / 3, j = (column - first_) / 3;
  const int k = matrix_ != nullptr ? matrix_->pattern->Find(i, j) : -1;
  if (k < 0) return jacobian->Add(row, column, height, width, values, stride);
  const std::size_t before = 18 * std::size_t(k) - 9 * std::size_t(std::min(i, j));
  solvers::BlockSum::Entry* entry = &jacobian->entries[first_entry_ + before];
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) {
      const int at = i == j ? 3 * c + r : i > j ? 2 * (3 * c + r) - 9 : 2 * (3 * r + c) + 1 - 9;
      entry[at].value += values[std::size_t(c) * stride + r];
    }
  }
}

}  // namespace pliant::physics
