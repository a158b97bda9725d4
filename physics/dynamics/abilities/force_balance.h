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

// How a frame moves with the n velocities v of its block, and with x in q = q̂ ⊞ x.
struct FrameMap {
  SpatialColumns velocity;      // J = ∂(ω, v_Bo)/∂v at fixed positions
  SpatialColumns displacement;  // of (R_WB, p_Bo) by x
  SpatialColumns turning;       // ∂(ω, v_Bo)/∂x at fixed v
};

// A block as a differential equation, for methods whose forces are implicit in positions and
// velocities:
//
//   q̇ = v,   M(q) v̇ = f(q, v) + Σ Jᵀ F
//
// f are all forces of the block itself: elastic, damping and gyroscopic forces, gravity, and its
// inputs. F are wrenches of contacts and constraints on its frames, as torque about Bo, then force,
// in W; forces on nodes are added by the caller, since nodes are velocities themselves. The
// unknowns are the velocities of the State, in groups of the step's VelocitySpace.
//
// One such object serves one step at a time; it is placed at trial points one after the other.
class ForceBalance {
 public:
  virtual ~ForceBalance() = default;

  // Begins a step of length h from `start`, which must outlive it. Inputs hold through the step;
  // prescribed motions lead to their targets at constant velocity.
  virtual void Start(const BlockState& start, const BlockInputs& inputs, double h) = 0;

  // q ← q ⊞ x, where x is a velocity times a time; and x with q0 ⊞ x = q1.
  virtual void Advance(std::span<const double> x, std::span<double> q) const = 0;
  virtual void CalcDifference(std::span<const double> q0, std::span<const double> q1,
                              std::span<double> x) const = 0;

  // Places the block at (q, v) with q = q̂ ⊞ x, at `time` from the start of the step [s]. Positions
  // and velocities that are prescribed are overwritten.
  virtual void Place(double time, std::span<const double> x, std::span<double> q,
                     std::span<double> v) = 0;
  virtual void CalcFrames(std::span<FrameMotion> /*frames*/) const {}

  // M(q) a − f(q, v) − Σ Jᵀ F where the block is placed; `wrenches` has a column for each frame.
  // Zero for prescribed velocities. INTERNAL when forces are not finite.
  virtual absl::Status CalcResidual(std::span<const double> a, const SpatialColumns& wrenches,
                                    std::span<double> residual) = 0;

  // Adds the derivative of c · residual with respect to v along x = c v, a = (v − v̂)/c, at the
  // same point and wrenches: M + c ∂/∂v + c² ∂/∂x. Wrenches are fixed in W about Bo. The identity
  // for prescribed velocities. For c = 0: M(q). Velocities of the block begin at `first`.
  virtual void AddJacobian(double c, std::span<const double> a, const SpatialColumns& wrenches,
                           int first, solvers::BlockSum* jacobian) = 0;
  virtual void CalcFrameMap(int /*frame*/, FrameMap* /*map*/) const {}

  // Internals of the block at the end of the step; they stay as they are by default.
  virtual void StoreInternals(std::vector<double>* /*internals*/) const {}
};

// A block whose equation of motion can be evaluated at any positions and velocities.
class EquationOfMotion {
 public:
  virtual ~EquationOfMotion() = default;
  virtual std::unique_ptr<ForceBalance> NewForceBalance() const = 0;
  // A step for methods that take the forces from the ForceBalance: A and the free motion need
  // nothing but inertia, where that is cheaper than NewStep.
  virtual std::unique_ptr<BlockStep> NewMassStep() const = 0;
};

}  // namespace pliant::physics
