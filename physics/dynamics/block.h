#pragma once

#include <memory>
#include <span>

#include "absl/status/status.h"
#include <Eigen/Core>

#include "physics/dynamics/abilities/batch.h"
#include "physics/dynamics/abilities/compliant_form.h"
#include "physics/dynamics/abilities/elements.h"
#include "physics/dynamics/abilities/force_balance.h"
#include "physics/dynamics/abilities/frames.h"
#include "physics/dynamics/abilities/joints.h"
#include "physics/dynamics/abilities/nodes.h"
#include "physics/dynamics/abilities/nonlinear_balance.h"
#include "physics/dynamics/abilities/tangent_factor.h"
#include "physics/dynamics/abilities/volumes.h"
#include "physics/dynamics/block_inputs.h"
#include "physics/dynamics/block_rows.h"
#include "physics/dynamics/block_state.h"
#include "physics/dynamics/constraint_row.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/stage.h"
#include "physics/dynamics/velocity_space.h"

namespace pliant::solvers {
class MomentumTerm;
struct BlockMatrix;
}  // namespace pliant::solvers

namespace pliant::physics {

// Optional interfaces of a step, null if it does not implement one. They do not change during its
// life.
struct StepAbilities {
  FrameStep* frames = nullptr;
  JointStep* joints = nullptr;
  NonlinearBalance* nonlinear = nullptr;  // null: m is linear in v; A and m are valid at any v
  LaggedBalance* lagged = nullptr;
  CompliantForm* compliance = nullptr;  // the block is posed in compliance form
  VelocityMap* map = nullptr;           // null: the unknowns are the velocities of the State
  // The convex potential by which a nonlinear momentum balance differs from its linearisation. A
  // convex problem in which all velocities participate may include it.
  solvers::MomentumTerm* beyond_linear = nullptr;
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

  virtual StepAbilities abilities() { return {}; }

  // m(v) [N·s] of the stage, not linearised; zero on prescribed velocities.
  virtual void CalcMomentumResidual(std::span<const double> v, std::span<double> residual) = 0;

  // y = A x, and the diagonal of A.
  virtual void MultiplyTangent(std::span<const double> x, std::span<double> y) const = 0;
  virtual void CalcTangentDiagonal(std::span<double> diagonal) const = 0;
  // A, where the step keeps it as a matrix whose nodes are the groups of its space; else null.
  virtual const solvers::BlockMatrix* tangent_matrix() const { return nullptr; }

  // All terms of the residual of a step: m(v), A v and the diagonal of A.
  virtual void CalcResidualTerms(std::span<const double> v, std::span<double> residual,
                                 std::span<double> momentum, std::span<double> diagonal) {
    CalcMomentumResidual(v, residual);
    MultiplyTangent(v, momentum);
    CalcTangentDiagonal(diagonal);
  }

  // Work done on the block over the step to the solution v by its inputs [J]: forces, efforts on
  // channels and prescribed motion. Each acts along the mean of the start velocities and v, as
  // impulses change the kinetic energy. Gravity counts as potential energy instead. Includes the
  // energy of corrections that Integrate makes to the state. Needs Pose.
  virtual double CalcInputWork(std::span<const double> /*v*/) { return 0; }

  // Receives the contacts of the step, in which this block has the index `block`: after Pose, and
  // again when detection finds more of them. For steps that depend on contacts beyond their rows.
  virtual void SetContacts(int /*block*/, std::span<const ContactPoint> /*contacts*/) {}

  // Appends the rows of a point attached to this block, and adds its prescribed velocity.
  virtual void AppendRows(const Attachment& attachment, BlockRows* rows) const = 0;

  // Positions, velocities and internals at the end of the stage with the solution v. `state` holds
  // the base on entry.
  virtual void Integrate(std::span<const double> v, MutableBlockState state) const = 0;

 protected:
  VelocitySpace space_;
};

// Incremental potential of a posed step at v, whose gradient is m; zero at the start velocities of
// a linear balance [kg·m²/s²].
double CalcPotential(std::span<const double> v, BlockStep* step);

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
  const Compliant* compliance = nullptr;
  const EquationOfMotion* equation = nullptr;
  const PrescribedMotion* prescribed = nullptr;
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
  virtual BlockAbilities abilities() const = 0;

  virtual double mass(int part) const = 0;                                                // [kg]
  virtual Eigen::Vector3d CalcCenterOfMass(const BlockState& state, int part) const = 0;  // [m]
  // Linear momentum [kg·m/s], then angular about the world's origin [kg·m²/s].
  virtual Eigen::Matrix<double, 6, 1> CalcMomentum(const BlockState& state, int part) const = 0;
  virtual Energies CalcEnergies(const BlockState& state, const Eigen::Vector3d& gravity,
                                int part) const = 0;
};

}  // namespace pliant::physics
