#pragma once

#include <optional>
#include <span>
#include <vector>

#include "solvers/convex/sap.h"
#include "solvers/linalg/block_matrix.h"

namespace pliant::solvers {

// The sum of a convex problem's momentum terms: value, gradient and Hessian at an iterate, and
// derivatives along a step. Keeps its memory.
class EvaluatedTerms {
 public:
  // Starts at v = guess. `problem` must outlive later calls.
  void Start(const ConvexProblem& problem, std::span<const double> guess);
  bool empty() const { return !has_terms_; }
  bool are_convex() const { return are_convex_; }

  // A + ∇²φ of the island's blocks at the last Linearise; A alone for blocks without a term.
  std::span<const SchurComplement> tangents() const { return tangents_; }
  // `is_far`: as of MomentumTerm::AddHessian.
  void Linearise(std::span<const double> v, bool is_far);

  // Σ φ(v) and its gradient at the last Evaluate; zero without terms.
  void Evaluate(std::span<const double> v);
  double cost() const { return cost_; }
  std::span<const double> gradient() const { return gradient_; }

  // Sets the line v + α d.
  void StartLine(std::span<const double> v, std::span<const double> d);
  // Σ φ on this line, and its first and second derivatives with respect to α.
  MomentumTerm::Along CalcAlong(double alpha) const;
  // Slope at α = 0 from the velocities of the last Evaluate, at no cost.
  double CalcSlope(std::span<const double> d) const;

 private:
  struct Tangent {
    std::vector<double> dense;
    std::optional<BlockMatrix> sparse;
  };

  // Calls f(block, term, part) for each block that has a term; part(x) are its velocities in x.
  template <typename F>
  void ForEachTerm(const F& f) const;

  const ConvexProblem* problem_ = nullptr;
  bool has_terms_ = false, are_convex_ = true;
  double cost_ = 0;
  // v and is_far of the last Linearise, which is not repeated there
  std::vector<double> linearised_at_;
  bool linearised_far_ = false;
  std::vector<SchurComplement> tangents_;
  std::vector<Tangent> sums_;  // storage of A + ∇²φ, by block
  std::vector<double> gradient_;
};

}  // namespace pliant::solvers
