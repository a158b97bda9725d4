#include "solvers/smooth/symmetric_factor.h"

#include <algorithm>

#include "solvers/linalg/elimination_order.h"

namespace pliant::solvers {
namespace {

// Additions and multiplications from which the factorisation and the iterations that it needs take
// less time than an LU factorisation.
constexpr double kMinOperations = 2e6;

}  // namespace

bool SymmetricFactor::Factor(const BlockSum& A) {
  if (A.num_last > 0) return false;
  pattern_->Set(A);
  if (version_ != pattern_->version()) Analyse();
  if (!pays_off_) return false;
  std::ranges::fill(matrix_.values, 0.0);
  for (std::size_t k = 0; k < A.entries.size(); ++k) Add(k, A.entries[k].value);
  for (const BlockSum::OneSided& part : A.one_sided) Add(part.entry, -part.value);
  for (const int slot : pattern_->padding()) {
    const int first = pattern_->pattern().column_starts[slot / 3];
    matrix_.values[9 * std::size_t(first) + 4 * (slot % 3)] = 1;
  }
  return factor_.Factor(matrix_);
}

void SymmetricFactor::Add(std::size_t entry, double value) {
  const Target& target = targets_[entry];
  matrix_.values[target.number] += 0.5 * value;
  if (target.mirrored >= 0) matrix_.values[target.mirrored] += 0.5 * value;
}

void SymmetricFactor::Analyse() {
  version_ = pattern_->version();
  pays_off_ = TakesMoreOperations(pattern_->pattern(), pattern_->order(), kMinOperations);
  if (!pays_off_) return;
  matrix_.values.resize(9 * pattern_->pattern().rows.size());
  factor_.SetPattern(pattern_->pattern(), pattern_->order());
  b_.assign(3 * std::size_t(pattern_->pattern().num_nodes), 0.0);
  x_.resize(b_.size());
  FindTargets();
}

void SymmetricFactor::FindTargets() {
  targets_.clear();
  targets_.reserve(pattern_->places().size());
  int row_node = -1, column_node = -1, block = -1;
  for (const auto& [row, column] : pattern_->places()) {
    const int i = pattern_->slot(row), j = pattern_->slot(column);
    if (i / 3 != row_node || j / 3 != column_node) {
      row_node = i / 3;
      column_node = j / 3;
      block = 9 * pattern_->pattern().Find(row_node, column_node);
    }
    const int as_given = block + 3 * (j % 3) + i % 3, transposed = block + 3 * (i % 3) + j % 3;
    if (row_node == column_node) {
      targets_.push_back({as_given, transposed});
    } else {
      targets_.push_back({row_node > column_node ? as_given : transposed, -1});
    }
  }
}

void SymmetricFactor::Solve(std::span<double> x) {
  for (std::size_t i = 0; i < x.size(); ++i) b_[pattern_->slot(static_cast<int>(i))] = x[i];
  factor_.Solve(b_, x_);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x_[pattern_->slot(static_cast<int>(i))];
}

}  // namespace pliant::solvers
