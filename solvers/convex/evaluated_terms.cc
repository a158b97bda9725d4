#include "solvers/convex/evaluated_terms.h"

#include <algorithm>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {

template <typename F>
void EvaluatedTerms::ForEachTerm(const F& f) const {
  const IslandView& island = problem_->island;
  for (std::size_t b = 0; b < problem_->terms.size(); ++b) {
    MomentumTerm* term = problem_->terms[b];
    if (term == nullptr) continue;
    const int first = island.first_of_block(static_cast<int>(b)),
              size = island.block(static_cast<int>(b)).size;
    f(b, *term, [=](auto&& x) { return std::span(x).subspan(first, size); });
  }
}

void EvaluatedTerms::Start(const ConvexProblem& problem, std::span<const double> guess) {
  problem_ = &problem;
  tangents_.clear();
  for (const int b : problem.island.blocks) tangents_.push_back(problem.island.system->blocks[b].A);
  has_terms_ = std::ranges::any_of(problem.terms, [](const MomentumTerm* term) { return term; });
  are_convex_ = std::ranges::all_of(
      problem.terms, [](const MomentumTerm* term) { return !term || term->is_convex(); });
  cost_ = 0;
  gradient_.assign(has_terms_ ? problem.size() : 0, 0.0);
  if (sums_.size() < tangents_.size()) sums_.resize(tangents_.size());
  linearised_at_.clear();
  Linearise(guess, true);
}

void EvaluatedTerms::Linearise(std::span<const double> v, bool is_far) {
  const bool is_same = are_convex_ || is_far == linearised_far_;
  if (!has_terms_ || (is_same && std::ranges::equal(v, linearised_at_))) return;
  linearised_far_ = is_far;
  linearised_at_.assign(v.begin(), v.end());
  ForEachTerm([&](std::size_t b, const MomentumTerm& term, const auto& part) {
    const SchurComplement& given = problem_->island.block(static_cast<int>(b)).A;
    if (given.sparse != nullptr) {
      std::optional<BlockMatrix>& sum = sums_[b].sparse;
      sum = *given.sparse;
      term.AddHessian(part(v), is_far, sum->values);
      tangents_[b].sparse = &*sum;
    } else {
      std::vector<double>& sum = sums_[b].dense;
      sum.assign(given.dense.begin(), given.dense.end());
      term.AddHessian(part(v), is_far, sum);
      tangents_[b].dense = sum;
    }
  });
}

void EvaluatedTerms::Evaluate(std::span<const double> v) {
  if (!has_terms_) return;
  std::ranges::fill(gradient_, 0.0);
  cost_ = 0;
  ForEachTerm([&](std::size_t /*b*/, const MomentumTerm& term, const auto& part) {
    cost_ += term.AddGradient(part(v), part(gradient_));
  });
}

void EvaluatedTerms::StartLine(std::span<const double> v, std::span<const double> d) {
  ForEachTerm([&](std::size_t /*b*/, MomentumTerm& term, const auto& part) {
    term.StartLine(part(v), part(d));
  });
}

MomentumTerm::Along EvaluatedTerms::CalcAlong(double alpha) const {
  MomentumTerm::Along sum;
  ForEachTerm([&](std::size_t /*b*/, const MomentumTerm& term, const auto& /*part*/) {
    const MomentumTerm::Along along = term.CalcAlong(alpha);
    sum.value += along.value;
    sum.slope += along.slope;
    sum.curvature += along.curvature;
  });
  return sum;
}

double EvaluatedTerms::CalcSlope(std::span<const double> d) const {
  return Dot(static_cast<int>(gradient_.size()), d.data(), gradient_.data());
}

}  // namespace pliant::solvers
