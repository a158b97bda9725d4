#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include <Eigen/Core>

#include "physics/dynamics/abilities/batch.h"
#include "physics/dynamics/abilities/elements.h"
#include "physics/dynamics/abilities/frames.h"
#include "physics/dynamics/abilities/joints.h"
#include "physics/dynamics/abilities/nodes.h"
#include "physics/dynamics/abilities/step_abilities.h"
#include "physics/dynamics/abilities/tangent_factor.h"
#include "physics/dynamics/block_inputs.h"
#include "physics/dynamics/block_rows.h"
#include "physics/dynamics/block_state.h"
#include "physics/dynamics/constraint_row.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/stage.h"
#include "physics/dynamics/velocity_space.h"

namespace pliant::physics {

// How the momentum balance of a block that is not linear was solved.
struct FreeMotionReport {
  int iterations = 0;   // of Newton's method; 0: the block is linear
  double residual = 0;  // of its momentum balance, relative
  // Elements whose stiffness, or compliance, was not definite and was projected, in the iteration
  // that had most of them.
  int projected_elements = 0;
  bool is_above_tolerance = false;  // accepted with a residual that misses the tolerance
};

// One block during one step. A workspace: it may be dropped between steps without changing a
// result.
class BlockStep : public TangentFactor {
 public:
  // Poses the momentum balance of a stage, m(v) = 0, and linearises it: m(v) = m(v0) + A (v − v0)
  // (han2023 (8), (9)). `base` holds q0 and v0 of the stage and outlives the use of what is posed.
  // Makes the velocity space of the step. INTERNAL when forces are not finite.
  virtual absl::Status Pose(const Stage& stage, const BlockState& base,
                            const BlockInputs& inputs) = 0;

  // The unknowns of this step. Of a block whose unknowns are always the same it is there before
  // Pose.
  const VelocitySpace& space() const { return space_; }

  // The velocities from which the step starts, in its space. Needs Pose.
  virtual std::span<const double> start_velocities() const = 0;

  // What else the step can do; the same for the life of the step.
  virtual StepAbilities abilities() { return {}; }

  // Whether m is linear in v, so that A and m hold at any v.
  virtual bool is_linear() const { return true; }
  // Whether A, of a momentum balance that is not linear, has become stale at v: deformations differ
  // from those that it was taken at by more than a small strain or rotation.
  virtual bool IsStale(std::span<const double> /*v*/) { return false; }
  // Takes A, and the m that Factor, CalcFreeMotion and CalcReducedMomentum speak of, to velocities
  // v. INTERNAL when forces are not finite there.
  virtual absl::Status Linearise(std::span<const double> /*v*/) { return absl::OkStatus(); }
  virtual FreeMotionReport free_motion_report() const { return {}; }

  // m(v) [N·s] as the stage poses it, linear or not; zero on prescribed velocities.
  virtual void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) = 0;

  // What the residual is measured by beside momenta, after CalcResidualTerms: squares of norms ‖D
  // x‖ with D = diag(A)^(−1/2).
  struct ResidualScale {
    // What the rounding of positions alone makes of m, where that is more than the rounding of m
    // itself: a stiff body at rest has no smaller residual.
    double rounding = 0;
    // Impulses of forces that cancel where a body turns back, and its momentum is next to nothing.
    double force = 0;
  };
  virtual ResidualScale CalcResidualScale() const { return {}; }

  // The incremental potential at v, zero at the start velocities of a linear block [kg·m²/s²]: m is
  // its gradient.
  virtual double CalcPotential(std::span<const double> v);

  // y = A x, and the diagonal of A.
  virtual void MultiplyTangent(std::span<const double> x, std::span<double> y) const = 0;
  virtual void CalcTangentDiagonal(std::span<double> diagonal) const = 0;

  // All that the residual of a step is measured by: m(v), A v and the diagonal of A.
  virtual void CalcResidualTerms(std::span<const double> v, std::span<double> residual,
                                 std::span<double> momentum, std::span<double> diagonal) {
    CalcMomentumResidual(v, residual);
    MultiplyTangent(v, momentum);
    CalcTangentDiagonal(diagonal);
  }

  // Appends the rows of a point attached to this block: v_point = Σ matrix · v_group + prescribed
  // velocity.
  virtual void AppendRows(const Attachment& attachment, BlockRows* rows) const = 0;
  virtual Eigen::Vector3d CalcPrescribedVelocity(const Attachment&) const {
    return Eigen::Vector3d::Zero();
  }

  // Appends the block's own constraints over this step: joint limits within reach, dry friction of
  // joints. `block` is its index in the Model.
  virtual void AppendConstraints(int /*block*/, ConstraintSet*) const {}

  // Velocities of the State from those of the step's space: the same numbers, unless the unknowns
  // are of another kind than what moves.
  virtual void CalcStateVelocities(std::span<const double> v, std::span<double> state_v) const {
    std::copy(v.begin(), v.end(), state_v.begin());
  }

  // Positions, velocities and internals at the end of the stage with the solution v. `state` holds
  // the base on entry.
  virtual void Integrate(std::span<const double> v, MutableBlockState state) const = 0;

 protected:
  VelocitySpace space_;
};

struct Energies {
  double kinetic = 0, elastic = 0, potential = 0;  // [J]; of gravity zero at the world's origin
};

// What a block can do beyond DynamicsBlock; null where it can not.
struct BlockAbilities {
  const FrameSet* frames = nullptr;
  const NodeSet* nodes = nullptr;
  const ElementSet* elements = nullptr;
  const JointSet* joints = nullptr;
  const Batchable* batch = nullptr;
};

// A moving thing: a joint tree, a free or kinematic body, a FEM body, a shell, a particle body.
// Immutable, part of Model. A method never asks which one it is.
//
// Where a function takes a `part`, it speaks of the body that is this part of the block
// (Body::part), of a block that holds several; kWholeBlock asks for all of them.
class DynamicsBlock {
 public:
  static constexpr int kWholeBlock = -1;
  virtual ~DynamicsBlock() = default;

  virtual int num_positions() const = 0;
  virtual int num_velocities() const = 0;  // of the State; those of a step are its VelocitySpace's
  virtual void SetInitialState(MutableBlockState state) const = 0;

  virtual std::unique_ptr<BlockStep> NewStep() const = 0;
  // A step in compliance form; the same as NewStep of a block that is one body and so has none.
  virtual std::unique_ptr<BlockStep> NewCompliantStep() const { return NewStep(); }
  virtual BlockAbilities abilities() const = 0;

  // Model::bodies whose prescribed motion this block follows: itself for a kinematic body; the
  // bodies that prescribed vertices are attached to for a deformable one; −1 is the world.
  virtual std::vector<int> followed_bodies() const { return {}; }
  // Whether its motion is prescribed altogether.
  virtual bool is_prescribed() const { return false; }
  // Whether it is so slow that it counts as at rest; of a prescribed one false.
  virtual bool IsAtRest(const BlockState& state, double speed) const;

  virtual double mass(int part) const = 0;                                                // [kg]
  virtual Eigen::Vector3d CalcCenterOfMass(const BlockState& state, int part) const = 0;  // [m]
  // Linear momentum [kg·m/s], then angular about the world's origin [kg·m²/s].
  virtual Eigen::Matrix<double, 6, 1> CalcMomentum(const BlockState& state, int part) const = 0;
  virtual Energies CalcEnergies(const BlockState& state, const Eigen::Vector3d& gravity,
                                int part) const = 0;
};

}  // namespace pliant::physics
