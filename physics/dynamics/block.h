#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include <Eigen/Core>

#include "physics/dynamics/abilities/batch.h"
#include "physics/dynamics/abilities/elements.h"
#include "physics/dynamics/abilities/force_balance.h"
#include "physics/dynamics/abilities/frames.h"
#include "physics/dynamics/abilities/joints.h"
#include "physics/dynamics/abilities/nodes.h"
#include "physics/dynamics/abilities/step_abilities.h"
#include "physics/dynamics/abilities/tangent_factor.h"
#include "physics/dynamics/abilities/volumes.h"
#include "physics/dynamics/block_inputs.h"
#include "physics/dynamics/block_rows.h"
#include "physics/dynamics/block_state.h"
#include "physics/dynamics/constraint_row.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/stage.h"
#include "physics/dynamics/velocity_space.h"

namespace pliant::physics {

// Outcome of solving the momentum balance of a nonlinear block.
struct FreeMotionReport {
  int iterations = 0;   // Newton iterations; 0 for a linear block
  double residual = 0;  // relative residual of the momentum balance
  // Elements whose indefinite stiffness or compliance was projected: the largest number in any one
  // iteration.
  int projected_elements = 0;
  bool is_above_tolerance = false;  // accepted with a residual above the tolerance
};

// The tangent of a nonlinear momentum balance.
enum class TangentKind {
  kExact,      // the Jacobian of m, until Factor finds it indefinite and projects it
  kProjected,  // positive definite: without the negative eigenvalues of elements
};

// One block during one step. A workspace: dropping it between steps changes no result.
class BlockStep : public TangentFactor {
 public:
  // Sets up the momentum balance of a stage, m(v) = 0, and its linearisation m(v) = m(v0) + A (v −
  // v0) (han2023 (8), (9)). `base` holds q0 and v0 of the stage and must outlive this use. Creates
  // the velocity space of the step. INTERNAL when forces are not finite.
  virtual absl::Status Pose(const Stage& stage, const BlockState& base,
                            const BlockInputs& inputs) = 0;

  // The unknowns of this step. Valid before Pose if the block always has the same unknowns.
  const VelocitySpace& space() const { return space_; }

  // Velocities at the start of the step, in its space. Needs Pose.
  virtual std::span<const double> start_velocities() const = 0;

  // Optional interfaces of the step; they do not change during its life.
  virtual StepAbilities abilities() { return {}; }

  // Whether m is linear in v; A and m are then valid at any v.
  virtual bool is_linear() const { return true; }
  // Whether A of a nonlinear momentum balance is stale at v: since the last linearisation,
  // deformations have changed by more than a small strain or rotation.
  virtual bool IsStale(std::span<const double> /*v*/) { return false; }
  // Relinearises at velocities v: A, and m as Factor, CalcFreeMotion and CalcReducedMomentum use
  // it. A is then assembled for Factor and available as a product; a part of low rank, where a body
  // has one, is included in both. INTERNAL when forces are not finite there.
  virtual absl::Status Linearise(std::span<const double> /*v*/, TangentKind /*kind*/) {
    return absl::OkStatus();
  }
  // A balance that is linear in v may rest on something that it takes from the start of the step,
  // as the rotations of elements. The gain of energy that this costs in a step to v, relative to
  // the energy that the block turns over.
  virtual double CalcRelativeGain(std::span<const double> /*v*/) { return 0; }
  // Takes it from where the step leads with v instead; the balance stays linear. INTERNAL when
  // forces are not finite there.
  virtual absl::Status PoseAhead(std::span<const double> /*v*/) { return absl::OkStatus(); }
  virtual FreeMotionReport free_motion_report() const { return {}; }

  // m(v) [N·s] of the stage, not linearised; zero on prescribed velocities.
  virtual void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) = 0;

  // Further scales for the residual, beside momenta. Call after CalcResidualTerms. Squares of norms
  // ‖D x‖ with D = diag(A)^(−1/2).
  struct ResidualScale {
    // Error in m due to the rounding of positions, where it exceeds the rounding of m itself: the
    // residual of a stiff body at rest cannot fall below it.
    double rounding = 0;
    // Impulses of forces that cancel at a turning point, where the momentum is nearly zero.
    double force = 0;
  };
  virtual ResidualScale CalcResidualScale() const { return {}; }

  // Incremental potential at v, whose gradient is m; zero at the start velocities of a linear block
  // [kg·m²/s²].
  virtual double CalcPotential(std::span<const double> v);

  // Work done on the block over the step by its inputs with the solution v: forces, efforts on
  // channels and prescribed motion, each along the mean of the velocities at the start and v, as
  // the kinetic energy changes by impulses [J]. Gravity counts as potential energy instead. Needs
  // Pose.
  virtual double CalcInputWork(std::span<const double> /*v*/) { return 0; }

  // y = A x, and the diagonal of A.
  virtual void MultiplyTangent(std::span<const double> x, std::span<double> y) const = 0;
  virtual void CalcTangentDiagonal(std::span<double> diagonal) const = 0;

  // All terms of the residual of a step: m(v), A v and the diagonal of A.
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

  // Converts the velocities of the step's space to those of the State. They are the same numbers by
  // default.
  virtual void CalcStateVelocities(std::span<const double> v, std::span<double> state_v) const {
    std::copy(v.begin(), v.end(), state_v.begin());
  }

  // Replaces the velocities of a state at the end of a step by those of the solution, where other
  // velocities have advanced its positions (recovery of overlap, collisions in the step).
  virtual void StoreVelocities(std::span<const double> v, MutableBlockState state) const {
    CalcStateVelocities(v, state.v);
  }

  // Positions, velocities and internals at the end of the stage with the solution v. `state` holds
  // the base on entry.
  virtual void Integrate(std::span<const double> v, MutableBlockState state) const = 0;

 protected:
  VelocitySpace space_;
};

struct Energies {
  double kinetic = 0, elastic = 0, potential = 0;  // [J]; gravity: zero at the world's origin
};

// Optional interfaces of a block; null where it does not implement one.
struct BlockAbilities {
  const FrameSet* frames = nullptr;
  const NodeSet* nodes = nullptr;
  const ElementSet* elements = nullptr;
  const VolumeSet* volumes = nullptr;
  const JointSet* joints = nullptr;
  const Batchable* batch = nullptr;
};

// A moving thing: a joint tree, a free or kinematic body, a FEM body, a shell, a particle body.
// Immutable, part of Model. Methods do not depend on the kind.
//
// A block may hold several bodies. The argument `part` selects one of them (Body::part);
// kWholeBlock selects all.
class DynamicsBlock {
 public:
  static constexpr int kWholeBlock = -1;
  virtual ~DynamicsBlock() = default;

  virtual int num_positions() const = 0;
  virtual int num_velocities() const = 0;  // of the State; a step has its own VelocitySpace
  virtual void SetInitialState(MutableBlockState state) const = 0;

  virtual std::unique_ptr<BlockStep> NewStep() const = 0;
  // A step in compliance form. Same as NewStep for a block that is a single body and has no such
  // form.
  virtual std::unique_ptr<BlockStep> NewCompliantStep() const { return NewStep(); }
  // A step for methods that take forces from NewForceBalance: A and the free motion need nothing
  // but inertia, if that is cheaper. Same as NewStep otherwise.
  virtual std::unique_ptr<BlockStep> NewMassStep() const { return NewStep(); }
  virtual BlockAbilities abilities() const = 0;
  // The block as a differential equation; null where it cannot give its forces at any velocity.
  virtual std::unique_ptr<ForceBalance> NewForceBalance() const { return nullptr; }

  // Model::bodies whose prescribed motion this block follows: itself for a kinematic body; the
  // bodies to which prescribed vertices are attached for a deformable one; −1 is the world.
  virtual std::vector<int> followed_bodies() const { return {}; }
  // Whether all of its motion is prescribed.
  virtual bool is_prescribed() const { return false; }
  // Whether it is slow enough to count as at rest; false for a prescribed block.
  virtual bool IsAtRest(const BlockState& state, double speed) const;

  virtual double mass(int part) const = 0;                                                // [kg]
  virtual Eigen::Vector3d CalcCenterOfMass(const BlockState& state, int part) const = 0;  // [m]
  // Linear momentum [kg·m/s], then angular about the world's origin [kg·m²/s].
  virtual Eigen::Matrix<double, 6, 1> CalcMomentum(const BlockState& state, int part) const = 0;
  virtual Energies CalcEnergies(const BlockState& state, const Eigen::Vector3d& gravity,
                                int part) const = 0;
};

}  // namespace pliant::physics
