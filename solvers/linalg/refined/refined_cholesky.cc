#include "solvers/linalg/refined/refined_cholesky.h"

#include <algorithm>
#include <cmath>

namespace pliant::solvers {
namespace {

constexpr double kRounding = 5e-16;
// More refinements would cost more than single precision saves on a large factor.
constexpr int kMaxRefinements = 4;
// Condition number above which so few refinements do not suffice.
constexpr double kIllConditioned = 1e5;
// Additions and multiplications per number of the factor above which at least a fifth of the time
// is saved.
constexpr double kManyOperations = 200;

// Lower bound on the condition number of D A D, D = diag(A)^(−1/2). The largest eigenvalue is at
// least the mean of all, 1. The smallest is at most the Rayleigh quotient Σ a_ij / Σ a_ii of D⁻¹ e
// with a translation e, which no element resists.
double BoundCondition(const BlockMatrix& A, std::span<const double> diagonal) {
  const BlockPattern& pattern = *A.pattern;
  double below = 0, on_diagonal = 0, trace = 0;
  const auto sum = [&](int block) {
    double total = 0;
    for (int e = 0; e < 9; ++e) total += A.values[9 * std::size_t(block) + e];
    return total;
  };
  for (int j = 0; j < pattern.num_nodes; ++j) {
    on_diagonal += sum(pattern.column_starts[j]);
    for (int k = pattern.column_starts[j] + 1; k < pattern.column_starts[j + 1]; ++k)
      below += sum(k);
  }
  for (const double one : diagonal) trace += one;
  return trace / (on_diagonal + 2 * below);
}

// Power of two that scales the largest number into [½, 1), because the exponent range of single
// precision is small.
double FindScale(std::span<const double> x) {
  double largest = 0;
  for (const double one : x) largest = std::max(largest, std::abs(one));
  int exponent = 0;
  std::frexp(largest, &exponent);
  // the inverse of the scale must be finite too
  constexpr int kFarthest = 1000;
  return std::ldexp(1.0, std::clamp(-exponent, -kFarthest, kFarthest));
}

}  // namespace

RefinedCholesky::RefinedCholesky(const BlockPattern* pattern, std::vector<int> order)
    : layout_(*pattern, std::move(order)) {
  layout_.LayOut({});
  layout_.Place({}, true);
}

bool RefinedCholesky::Pays(const SupernodeLayout& layout) {
  return layout.flops() > kManyOperations * static_cast<double>(layout.panel_numbers());
}

bool RefinedCholesky::Factor(const BlockMatrix& A) {
  diagonal_.resize(3 * std::size_t(layout_.num_nodes()));
  A.CopyDiagonal(diagonal_);
  // a sum that rounding made negative is nearly zero, so A is ill-conditioned
  const double condition = BoundCondition(A, diagonal_);
  if (!(condition > 0 && condition < kIllConditioned)) return false;
  factor_.Reserve(layout_);
  const auto fill = [&](int k) {
    const auto& node = layout_.supernodes()[k];
    FillColumns(node, 0, node.columns, layout_.blocks(node), A, factor_.panels());
  };
  return factor_.Eliminate(layout_, fill) < 0;
}

bool RefinedCholesky::Solve(const BlockMatrix& A, std::span<const double> b, std::span<double> x) {
  std::ranges::fill(x, 0.0);
  residual_.assign(b.begin(), b.end());
  backward_error_ = 1;
  for (refinements_ = 0;; ++refinements_) {
    AddCorrection(x);
    A.Multiply(x, residual_);
    for (std::size_t i = 0; i < b.size(); ++i) residual_[i] = b[i] - residual_[i];
    const double before = backward_error_;
    backward_error_ = CalcBackwardError(b, x);
    if (backward_error_ <= kRounding) return true;
    // stop if the remaining refinements do not suffice at this rate, or on NaN
    double promised = backward_error_;
    for (int k = refinements_; k < kMaxRefinements; ++k) promised *= backward_error_ / before;
    if (!(promised <= kRounding)) return false;
  }
}

void RefinedCholesky::AddCorrection(std::span<double> x) {
  const double scale = FindScale(residual_);
  y_.resize(residual_.size());
  for (int i = 0; i < layout_.num_nodes(); ++i) {
    const double* from = &residual_[3 * std::size_t(layout_.node(i))];
    for (int r = 0; r < 3; ++r) y_[3 * i + r] = static_cast<float>(scale * from[r]);
  }
  factor_.SolveForward(layout_, y_);
  factor_.SolveBackward(layout_, y_);
  for (int i = 0; i < layout_.num_nodes(); ++i) {
    double* to = &x[3 * std::size_t(layout_.node(i))];
    for (int r = 0; r < 3; ++r) to[r] += static_cast<double>(y_[3 * i + r]) / scale;
  }
}

double RefinedCholesky::CalcBackwardError(std::span<const double> b,
                                          std::span<const double> x) const {
  double error = 0, load = 0, motion = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    error += residual_[i] * residual_[i] / diagonal_[i];
    load += b[i] * b[i] / diagonal_[i];
    motion += x[i] * x[i] * diagonal_[i];
  }
  // zero load: avoid 0 / 0
  if (error == 0) return 0;
  return std::sqrt(error) / (std::sqrt(load) + std::sqrt(motion));
}

}  // namespace pliant::solvers
