#pragma once

#include <span>

#include "absl/status/status.h"

namespace pliant::physics {

// Outcome of solving the momentum balance of a nonlinear block.
struct FreeMotionReport {
  int iterations = 0;         // Newton iterations
  int linear_iterations = 0;  // of an iterative linear solver, in total
  double residual = 0;        // relative residual of the momentum balance
  // Elements whose indefinite stiffness was projected: the largest number in any one iteration.
  int projected_elements = 0;
  bool is_above_tolerance = false;  // accepted with a residual above the tolerance
};

// The tangent of a nonlinear momentum balance.
enum class TangentKind {
  kExact,      // the Jacobian of m, until Factor finds it indefinite and projects it
  kProjected,  // positive definite: negative eigenvalues of elements are clamped
};

// A step whose momentum balance m(v) is nonlinear. Pose solves it without contact; A and the m that
// Factor, CalcFreeMotion and CalcReducedMomentum use are those of the last linearisation.
class NonlinearBalance {
 public:
  virtual ~NonlinearBalance() = default;

  // True if A is stale at v: since the last linearisation, deformations have changed by more than a
  // small strain or rotation.
  virtual bool IsStale(std::span<const double> v) = 0;
  // Linearises at velocities v. A is then assembled for Factor and available as a product; both
  // include the low-rank part of a body that has one. INTERNAL when forces are not finite there.
  virtual absl::Status Linearise(std::span<const double> v, TangentKind kind) = 0;
  // Incremental potential at v, whose gradient is m, up to a constant of the step [kg·m²/s²].
  virtual double CalcPotential(std::span<const double> v) = 0;
  virtual FreeMotionReport free_motion_report() const = 0;

  // Scales of the residual besides momenta, as squared norms ‖D x‖² with D = diag(A)^(−1/2). Call
  // after CalcResidualTerms.
  struct ResidualScale {
    // Error in m due to the rounding of positions, where it exceeds the rounding of m itself: the
    // residual of a stiff body at rest cannot fall below it.
    double rounding = 0;
    // Impulses of forces that cancel at a turning point, where the momentum is nearly zero.
    double force = 0;
  };
  virtual ResidualScale CalcResidualScale() const = 0;
};

// A step whose momentum balance is linear in v because some quantities are lagged: taken at the
// start of the step, as the rotations of elements are.
class LaggedBalance {
 public:
  virtual ~LaggedBalance() = default;

  // Energy that the block gains in a step to v because of the lag, relative to the energy that it
  // exchanges.
  virtual double CalcRelativeGain(std::span<const double> v) = 0;
  // Takes the lagged quantities at the end of the step with velocities v instead; the balance stays
  // linear. INTERNAL when forces are not finite.
  virtual absl::Status PoseAhead(std::span<const double> v) = 0;
};

}  // namespace pliant::physics
