#include "solvers/convex/evaluated_terms.h"

#include <algorithm>

#include "solvers/linalg/dense.h"

namespace pliant::solvers {
namespace {

template <typename V>
auto PartOf(const ConvexProblem::Block& block, V& x) {
  return std::span(x).subspan(block.first, block.size);
}

}  // namespace

void EvaluatedTerms::Start(const ConvexProblem& problem, std::span<const double> guess) {
  problem_ = &problem;
  tangents_.assign(problem.blocks.begin(), problem.blocks.end());
  has_terms_ = std::ranges::any_of(tangents_, [](const auto& block) { return block.term; });
  cost_ = 0;
  gradient_.assign(has_terms_ ? problem.size : 0, 0.0);
  if (sums_.size() < tangents_.size()) sums_.resize(tangents_.size());
  Linearise(guess);
}

void EvaluatedTerms::Linearise(std::span<const double> v) {
  if (!has_terms_) return;
  for (std::size_t b = 0; b < tangents_.size(); ++b) {
    const ConvexProblem::Block& given = problem_->blocks[b];
    if (given.term == nullptr) continue;
    if (given.sparse != nullptr) {
      std::optional<BlockMatrix>& sum = sums_[b].sparse;
      sum = *given.sparse;
      given.term->AddHessian(PartOf(given, v), sum->values);
      tangents_[b].sparse = &*sum;
    } else {
      std::vector<double>& sum = sums_[b].dense;
      sum.assign(given.A, given.A + std::size_t(given.size) * given.size);
      given.term->AddHessian(PartOf(given, v), sum);
      tangents_[b].A = sum.data();
    }
  }
}

void EvaluatedTerms::Evaluate(std::span<const double> v) {
  if (!has_terms_) return;
  std::ranges::fill(gradient_, 0.0);
  cost_ = 0;
  for (const ConvexProblem::Block& block : problem_->blocks) {
    if (block.term != nullptr)
      cost_ += block.term->AddGradient(PartOf(block, v), PartOf(block, gradient_));
  }
}

EvaluatedTerms::Along EvaluatedTerms::CalcAlong(std::span<const double> v,
                                                std::span<const double> d, double alpha) const {
  Along along;
  for (const ConvexProblem::Block& block : problem_->blocks) {
    if (block.term == nullptr) continue;
    const std::span<const double> start = PartOf(block, v), change = PartOf(block, d);
    trial_.resize(block.size);
    trial_gradient_.assign(block.size, 0.0);
    for (int i = 0; i < block.size; ++i) trial_[i] = start[i] + alpha * change[i];
    along.cost += block.term->AddGradient(trial_, trial_gradient_);
    along.slope += Dot(block.size, change.data(), trial_gradient_.data());
    along.curvature += block.term->CalcCurvature(trial_, change);
  }
  return along;
}

}  // namespace pliant::solvers
