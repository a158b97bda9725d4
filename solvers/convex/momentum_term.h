#pragma once

#include <span>

namespace pliant::solvers {

// A non-quadratic potential φ(v) of one block's velocities, added to ½‖v − v*‖²_A: the contribution
// of a stiffening material to the momentum balance. It is twice differentiable.
class MomentumTerm {
 public:
  virtual ~MomentumTerm() = default;

  // If false, the problem may have several solutions. SAP then finds a stationary point.
  virtual bool is_convex() const = 0;

  // Returns φ(v) [J] and adds ∇φ(v) to `gradient` [N·s]; both have the block's size.
  virtual double AddGradient(std::span<const double> v, std::span<double> gradient) const = 0;

  // Sets the line v + α d, on which CalcAlong is then called several times.
  virtual void StartLine(std::span<const double> v, std::span<const double> d) = 0;
  // φ on this line, and its first and second derivatives with respect to α.
  struct Along {
    double value = 0, slope = 0, curvature = 0;
  };
  virtual Along CalcAlong(double alpha) const = 0;

  // A += ∇²φ(v), or what replaces it where the sum would not be positive definite: if v `is_far`
  // from a solution, the absolute values of negative eigenvalues, with which Newton's method takes
  // fewer iterations there, and zero nearby. `A` has the layout of the block's own matrix: size ×
  // size if dense, BlockMatrix::values if sparse.
  virtual void AddHessian(std::span<const double> v, bool is_far, std::span<double> A) const = 0;
};

}  // namespace pliant::solvers
