#pragma once

#include <span>

namespace pliant::solvers {

// A convex potential φ(v) of one block's velocities that is not quadratic, beside the block's
// ½‖v − v*‖²_A: what the momentum balance of a stiffening material adds. Twice differentiable.
class MomentumTerm {
 public:
  virtual ~MomentumTerm() = default;

  // Returns φ(v) [J] and adds ∇φ(v) to `gradient` [N·s]; both have the block's size.
  virtual double AddGradient(std::span<const double> v, std::span<double> gradient) const = 0;

  // dᵀ ∇²φ(v) d ≥ 0
  virtual double CalcCurvature(std::span<const double> v, std::span<const double> d) const = 0;

  // A += ∇²φ(v), which is positive semi-definite. `A` is laid out as the block's own is: size ×
  // size of a dense one, BlockMatrix::values of a sparse one.
  virtual void AddHessian(std::span<const double> v, std::span<double> A) const = 0;
};

}  // namespace pliant::solvers
