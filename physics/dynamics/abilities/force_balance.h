#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include <Eigen/Core>

#include "physics/dynamics/abilities/frames.h"
#include "physics/dynamics/block_inputs.h"
#include "physics/dynamics/block_state.h"
#include "solvers/linalg/lu/block_sum.h"

namespace pliant::physics {

class BlockStep;

// Six rows, angular then linear, in W.
using SpatialColumns = Eigen::Matrix<double, 6, Eigen::Dynamic>;

// Derivatives of a frame's pose and velocity by the n velocities v of its block, and by x in
// q = q̂ ⊞ x.
struct FrameDerivatives {
  SpatialColumns velocity;              // J = ∂(ω, v_Bo)/∂v at fixed positions
  SpatialColumns displacement;          // ∂(R_WB, p_Bo)/∂x, rotations as vectors in W
  SpatialColumns velocity_by_position;  // ∂(ω, v_Bo)/∂x at fixed v
};

// A block as a differential equation, for methods whose forces are implicit in positions and
// velocities:
//
//   q̇ = v,   M(q) v̇ = f(q, v) + Σ Jᵀ F
//
// f is the sum of the block's own forces: elastic, damping and gyroscopic forces, gravity, and its
// inputs. F is the wrench of contacts and constraints on a frame, as torque about Bo, then force,
// in W. The caller adds forces on nodes, whose velocities are themselves unknowns. The unknowns are
// the velocities of the State, in groups of the step's VelocitySpace.
//
// An object serves one step at a time, and is placed at one trial point after another.
class ForceBalance {
 public:
  virtual ~ForceBalance() = default;

  // Begins a step of length h from `start`, which must outlive it. Inputs are constant over the
  // step; prescribed motions reach their targets at constant velocity.
  virtual void Start(const BlockState& start, const BlockInputs& inputs, double h) = 0;

  // Whether damping uses mean rates over the stage, which then begins at the start of the step, as
  // that of implicit Euler does. Damping then takes energy in any step; rules of higher order need
  // the rates at the trial point.
  virtual void UseMeanRates(bool /*uses*/) {}

  // Advance: q ← q ⊞ x, where x is a velocity times a time.
  // CalcDifference: x such that q0 ⊞ x = q1.
  virtual void Advance(std::span<const double> x, std::span<double> q) const = 0;
  virtual void CalcDifference(std::span<const double> q0, std::span<const double> q1,
                              std::span<double> x) const = 0;

  // Places the block at (q, v) with q = q̂ ⊞ x, at `time` from the start of the step [s]. Positions
  // and velocities that are prescribed are overwritten.
  virtual void Place(double time, std::span<const double> x, std::span<double> q,
                     std::span<double> v) = 0;
  virtual void CalcFrames(std::span<FrameMotion> /*frames*/) const {}

  // Computes M(q) a − f(q, v) − Σ Jᵀ F at the point where the block is placed; `wrenches` has a
  // column for each frame. Entries of prescribed velocities are zero. INTERNAL when forces are not
  // finite.
  virtual absl::Status CalcResidual(std::span<const double> a, const SpatialColumns& wrenches,
                                    std::span<double> residual) = 0;

  // Power at the last residual of what holds prescribed velocities, without the loads of contacts
  // and rows on them [W].
  virtual double prescribed_power() const { return 0; }

  // Adds the derivative of c · residual with respect to v along x = c v, a = (v − v̂)/c, at the
  // same point and wrenches: M + c ∂/∂v + c² ∂/∂x. Wrenches are fixed in W about Bo. The identity
  // for prescribed velocities; M(q) for c = 0. The block's velocities begin at row and column
  // `first`.
  virtual void AddJacobian(double c, std::span<const double> a, const SpatialColumns& wrenches,
                           int first, solvers::BlockSum* jacobian) = 0;
  // Computes the diagonal of M(q) at the point where the block is placed; 1 for prescribed
  // velocities. `wrenches` as for AddJacobian.
  virtual void CalcMassDiagonal(const SpatialColumns& wrenches, std::span<double> diagonal);
  virtual void CalcFrameDerivatives(int /*frame*/, FrameDerivatives* /*derivatives*/) const {}

  // Stores the block's internals at the end of the step; by default they do not change.
  virtual void StoreInternals(std::vector<double>* /*internals*/) const {}
};

// A block whose equation of motion can be evaluated at any positions and velocities.
class EquationOfMotion {
 public:
  virtual ~EquationOfMotion() = default;
  virtual std::unique_ptr<ForceBalance> NewForceBalance() const = 0;
  // A step for methods that take the forces from the ForceBalance. Where that is cheaper than
  // NewStep, its A and free motion contain inertia alone.
  virtual std::unique_ptr<BlockStep> NewMassStep() const = 0;
};

}  // namespace pliant::physics
