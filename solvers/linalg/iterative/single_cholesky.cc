#include "solvers/linalg/iterative/single_cholesky.h"

#include <algorithm>
#include <cmath>

#include "solvers/linalg/elimination_order.h"
#include "solvers/linalg/panel.h"

namespace pliant::solvers {
namespace {

// Additions and multiplications from which the factorisation takes longer than the iterations that
// refine its solutions.
constexpr double kMinOperations = 5e7;

// Range of the diagonal within which products of two numbers of the factor neither overflow nor
// underflow.
constexpr double kSmallestDiagonal = 1e-18, kLargestDiagonal = 1e18;

// A power of two that brings the largest number into [½, 1), or 1 if all are zero.
double FindScale(std::span<const double> x) {
  double largest = 0;
  for (const double number : x) largest = std::max(largest, std::abs(number));
  int exponent = 0;
  std::frexp(largest, &exponent);
  // powers beyond have no finite inverse
  constexpr int kMaxExponent = 1000;
  return std::ldexp(1.0, std::clamp(-exponent, -kMaxExponent, kMaxExponent));
}

}  // namespace

bool SingleCholesky::PaysOff(const BlockPattern& pattern, std::span<const int> order) {
  return TakesMoreOperations(pattern, order, kMinOperations);
}

void SingleCholesky::SetPattern(const BlockPattern& pattern, std::span<const int> order) {
  layout_.SetPattern(pattern, order);
  layout_.LayOut({});
  layout_.Place({}, true);
}

bool SingleCholesky::Factor(const BlockMatrix& A) {
  diagonal_.resize(3 * std::size_t(layout_.num_nodes()));
  A.CopyDiagonal(diagonal_);
  const auto is_representable = [](double a) {
    return a >= kSmallestDiagonal && a <= kLargestDiagonal;
  };
  if (!std::ranges::all_of(diagonal_, is_representable)) return false;
  factor_.Reserve(layout_);
  const auto fill = [&](int k) {
    const auto& node = layout_.supernodes()[k];
    FillColumns(node, 0, node.columns, layout_.blocks(node), A, factor_.panels());
  };
  return factor_.Eliminate(layout_, fill) < 0;
}

void SingleCholesky::Solve(std::span<const double> b, std::span<double> x) {
  const double scale = FindScale(b), inverse = 1 / scale;
  y_.resize(b.size());
  for (int i = 0; i < layout_.num_nodes(); ++i) {
    const double* from = &b[3 * std::size_t(layout_.node(i))];
    for (int r = 0; r < 3; ++r) y_[3 * std::size_t(i) + r] = static_cast<float>(scale * from[r]);
  }
  factor_.SolveForward(layout_, y_);
  factor_.SolveBackward(layout_, y_);
  for (int i = 0; i < layout_.num_nodes(); ++i) {
    double* to = &x[3 * std::size_t(layout_.node(i))];
    for (int r = 0; r < 3; ++r) to[r] = inverse * y_[3 * std::size_t(i) + r];
  }
}

}  // namespace pliant::solvers
