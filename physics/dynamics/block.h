#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include <Eigen/Core>

#include "physics/dynamics/constraint_row.h"
#include "physics/dynamics/contact_point.h"
#include "physics/spatial/rigid_transform.h"
#include "solvers/linalg/schur_complement.h"

namespace pliant::physics {

class CompliantForm;

// Measures of deformation, and of contact. Symmetric tensors are six numbers: xx, yy, zz, xy, yz, xz.
enum class FieldMeasure {
  kVonMisesStrain,       // of Green's strain
  kVonMisesStress,       // of Cauchy's stress [Pa]
  kVolumeRatio,          // det F
  kPrincipalStretch,     // the largest one
  kGreenStrain,          // ½ (FᵀF − I), in the body's frame at rest
  kLeftCauchyGreen,      // F Fᵀ, in W
  kPrincipalStretches,   // all three, the largest first
  kPrincipalDirections,  // of these, in W: three unit vectors, each up to its sign
  kContactPressure,      // of what touches the body, on its surface [Pa]
  kContactTraction,      // its force by area, in W [Pa]
};

// Of a body's surface, by the forces of a step; the others are of its elements, by their deformation.
constexpr bool IsOfContact(FieldMeasure measure) {
  return measure == FieldMeasure::kContactPressure || measure == FieldMeasure::kContactTraction;
}

// Numbers of a measure.
constexpr int CountComponents(FieldMeasure measure) {
  switch (measure) {
    case FieldMeasure::kGreenStrain:
    case FieldMeasure::kLeftCauchyGreen:
      return 6;
    case FieldMeasure::kPrincipalStretches:
    case FieldMeasure::kContactTraction:
      return 3;
    case FieldMeasure::kPrincipalDirections:
      return 9;
    default:
      return 1;
  }
}

// Three rows, by the groups of velocities that they read: how a point moves, or how a frame turns.
class BlockRows {
 public:
  struct Part {
    int group;           // group of the block, see BlockStep
    int num_columns;     // 3 for a node, 6 for a free body, n for a joint tree
    std::size_t values;  // ∂v/∂v_group, 3 × num_columns, column-major
  };
  void Clear() {
    parts_.clear();
    values_.clear();
  }
  bool empty() const { return parts_.empty(); }
  const std::vector<Part>& parts() const { return parts_; }
  const double* matrix(const Part& part) const { return &values_[part.values]; }
  // Zeros to be filled in, valid until the next call.
  double* Append(int group, int num_columns) {
    parts_.push_back({group, num_columns, values_.size()});
    values_.resize(values_.size() + 3 * static_cast<std::size_t>(num_columns), 0.0);
    return &values_[parts_.back().values];
  }

 private:
  std::vector<Part> parts_;
  std::vector<double> values_;
};

// Where a rigid frame B is and how it moves.
struct FrameMotion {
  RigidTransform X_WB;
  Eigen::Vector3d omega_W = Eigen::Vector3d::Zero();  // [rad/s]
  Eigen::Vector3d v_W = Eigen::Vector3d::Zero();      // of Bo [m/s]

  Eigen::Vector3d CalcPointVelocity(const Eigen::Vector3d& p_W) const {
    return v_W + omega_W.cross(p_W - X_WB.p);
  }
};

// θ-method (han2023 §IV): q = q0 + h (θ_vq v + (1 − θ_vq) v0), forces at θ between start and end.
struct StepSettings {
  double h = 0;  // [s]
  double theta = 1;
  double theta_vq = 1;
  Eigen::Vector3d gravity = Eigen::Vector3d::Zero();  // [m/s²]
};

// An external force on a block, resolved to its frame or node.
struct BlockForce {
  int frame = -1;  // −1: on `node`, or spread by mass over all nodes when node is −1 too
  int node = -1;
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();  // where it acts, when on a frame
  bool at_center_of_mass = true;
  Eigen::Vector3d force_W = Eigen::Vector3d::Zero();
  Eigen::Vector3d torque_W = Eigen::Vector3d::Zero();
};

// A generalised force on one velocity of a block: a torque on a joint.
struct CoordinateForce {
  int velocity;
  double force;  // [N·m] or [N]
};

// What a block is given for one step.
struct BlockInputs {
  std::vector<BlockForce> forces;
  std::vector<CoordinateForce> coordinate_forces;
  // Prescribed poses at the end of the step of the frames that its prescribed parts follow, by order of
  // DynamicsBlock::followed_bodies(); a kinematic body follows itself.
  std::vector<RigidTransform> targets;
  // Internal volumetric stress of each region that has one [Pa]; none: all zero.
  std::vector<double> activations;
};

// How a block that is not linear was posed.
struct FreeMotionReport {
  int iterations = 0;   // of Newton's method; 0: the block is linear
  double residual = 0;  // of its momentum balance, relative
  // Elements whose stiffness, or compliance, was not definite and was projected: the largest
  // number in any one iteration.
  int projected_elements = 0;
  bool is_above_tolerance = false;  // accepted with a residual that misses the tolerance
};

// One block during one step. A workspace: it may be dropped between steps without changing a result.
//
// Velocities come in groups (the three of a node, the six of a free body, all of a joint tree): contact rows name
// groups, and groups participate in contact or do not (han2023 §VI-A).
class BlockStep {
 public:
  virtual ~BlockStep() = default;

  // Where its frames are and how they move, as DynamicsBlock::CalcFrames, and told from (q0, v0) that a Pose comes to next,
  // which does not compute them again; false, with nothing done, when they would be of no use to it.
  virtual bool CalcFrames(std::span<const double> /*q0*/, std::span<const double> /*v0*/,
                          std::span<FrameMotion> /*frames*/) {
    return false;
  }

  // Poses the momentum balance m(v) = m(v0) + A (v − v0) over the step from (q0, v0) (han2023 (8), (9)).
  virtual absl::Status Pose(const StepSettings& settings, std::span<const double> q0,
                            std::span<const double> v0, const BlockInputs& inputs) = 0;

  virtual int num_velocities() const = 0;
  virtual int num_groups() const = 0;
  virtual int group_offset(int group) const = 0;  // first velocity of a group
  virtual int group_size(int group) const = 0;
  virtual int group_of_velocity(int velocity) const = 0;

  // Factors A with the groups `participants` (ascending) last, and records the Schur complement Â on them
  // (han2023 (18)). INTERNAL when A is not positive definite.
  virtual absl::Status Factor(std::span<const int> participants) = 0;

  // Adds to the groups that are touched (ascending) those that a method whose unknowns are velocities may as well keep: where
  // many are touched, fewer operations are needed with some more.
  virtual void ExtendParticipants(std::vector<int>* /*groups*/) const {}

  // As Factor, for a method that needs no more than Â and m̂: of a large block Â may be sparse then, and is not factored.
  virtual absl::Status Reduce(std::span<const int> participants) { return Factor(participants); }
  // Of the participants' momentum with the others eliminated, m̂(v) = Â (v − reference) − push, both of the participants, and
  // at their places among all velocities; others are left as they are. Needs Reduce, with participants.
  virtual void CalcReducedMomentum(std::span<double> reference, std::span<double> push) const {
    CalcFreeMotion(reference);
    std::fill(push.begin(), push.end(), 0.0);
  }

  // v* = v0 − A⁻¹ m(v0) (han2023 (10)): of the participants, or of all velocities when nothing participates. Leaves the
  // others as they are. Needs Factor.
  virtual void CalcFreeMotion(std::span<double> v_star) const = 0;
  // Up to the last use of the step. A block whose momentum is not linear in v solves m(v*) = 0 in Pose; A and m are from then on those linearised at v*.
  virtual FreeMotionReport free_motion_report() const { return {}; }

  // Takes A and m to velocities v, where those that they were linearised at have become stale: deformations under v differ by
  // more than a small strain or turn. Whether it did; then Factor and CalcFreeMotion are to be called again. A momentum that
  // is linear in v is never stale.
  virtual bool Relinearise(std::span<const double> /*v*/) { return false; }

  // Â, velocities ordered as the participants. Needs Factor, after which it is dense, or Reduce.
  virtual solvers::SchurComplement schur_complement() const = 0;

  // The Cholesky factor of A, in the lower triangle of a column-major matrix, of a block of one group that has it anyway;
  // empty otherwise. Needs Pose.
  virtual std::span<const double> factor() const { return {}; }

  // All velocities from those of the participants: nothing else acts on the others (han2023 (15)). Needs CalcFreeMotion or
  // CalcReducedMomentum, with participants.
  virtual void Complete(std::span<const double> v_participants, std::span<double> v) const = 0;

  // y = A x, and the diagonal of A, on the full block; needs Pose only.
  virtual void MultiplyTangent(std::span<const double> x, std::span<double> y) const = 0;
  virtual void CalcTangentDiagonal(std::span<double> diagonal) const = 0;

  // m(v) [N·s]; zero on prescribed velocities.
  virtual void CalcMomentumResidual(std::span<const double> v,
                                    std::span<double> residual) const = 0;

  // All that the step's residual is measured by: m(v), A v and the diagonal of A.
  virtual void CalcResidualTerms(std::span<const double> v, std::span<double> residual,
                                 std::span<double> momentum, std::span<double> diagonal) const {
    CalcMomentumResidual(v, residual);
    MultiplyTangent(v, momentum);
    CalcTangentDiagonal(diagonal);
  }

  // Appends the rows of a point attached to this block: v_point = Σ matrix · v_group + prescribed velocity.
  virtual void AppendRows(const Attachment& attachment, BlockRows* rows) const = 0;
  virtual Eigen::Vector3d CalcPrescribedVelocity(const Attachment& attachment) const = 0;
  // The same of the angular velocity of the frame that a point is attached to; none for nodes.
  virtual void AppendAngularRows(const Attachment&, BlockRows*) const {}
  virtual Eigen::Vector3d CalcPrescribedAngularVelocity(const Attachment&) const {
    return Eigen::Vector3d::Zero();
  }
  // How joints move a frame and a point of it: both of the above on the block's velocities that are those of joints.
  virtual void AppendJointRows(const Attachment& attachment, BlockRows* angular,
                               BlockRows* linear) const {
    AppendAngularRows(attachment, angular);
    AppendRows(attachment, linear);
  }

  // The block in compliance form; null when it is posed as one. Needs Pose.
  virtual CompliantForm* compliant_form() { return nullptr; }
  // Appends what a velocity is of the groups, where it is of none itself: the first of the three rows. False, with nothing
  // done, when it is one of a group's.
  virtual bool AppendVelocityRow(int /*velocity*/, BlockRows*) const { return false; }

  // Appends the block's own constraints over this step: joint limits within reach, dry friction of joints. `block` is its
  // index. Needs Pose.
  virtual void AppendConstraints(int /*block*/, ConstraintSet*) const {}

  // Generalised force that holds the block at rest against gravity, per velocity; needs Pose.
  virtual void CalcGravityCompensation(std::span<double> force) const {
    std::fill(force.begin(), force.end(), 0.0);
  }

  // New positions and velocities from the step's solution v. q and v hold the start of the step on entry.
  virtual void Integrate(std::span<const double> v_new, std::span<double> q,
                         std::span<double> v) const = 0;
};

// Does for several blocks at once what each step of them does alone, where their work is alike and goes faster side by side. What
// comes out for a block is the same, bit for bit, whoever else is in the team.
class BlockTeam {
 public:
  static constexpr int kMostMembers = 8;
  struct Member {
    BlockStep* step;  // of a block of the team's kind
    std::span<const int> participants;
    bool is_to_reduce;  // BlockStep::Reduce will do
    absl::Status* status;
  };
  struct Completion {
    const BlockStep* step;
    std::span<const double> v_participants;
    std::span<double> v;
  };
  virtual ~BlockTeam() = default;

  // BlockStep::Factor, or Reduce, and Complete of all members.
  virtual void Factor(std::span<const Member> members) = 0;
  virtual void Complete(std::span<const Completion> members) = 0;
};

// A moving thing: a joint tree, a free or kinematic body, a FEM body, a shell, a particle body. Immutable, part of Model.
// A method never asks which one it is.
class DynamicsBlock {
 public:
  virtual ~DynamicsBlock() = default;

  virtual int num_positions() const = 0;
  virtual int num_velocities() const = 0;
  virtual void SetInitialState(std::span<double> q, std::span<double> v) const = 0;
  virtual std::unique_ptr<BlockStep> NewStep() const = 0;
  // A step in compliance form; of a block that is one body, and so has none, the same.
  virtual std::unique_ptr<BlockStep> NewCompliantStep() const { return NewStep(); }

  // Blocks that answer the same may be stepped by one team, which any of them makes; null: alone is best.
  virtual const void* team_kind() const { return nullptr; }
  virtual std::unique_ptr<BlockTeam> NewTeam() const { return nullptr; }

  // Model::bodies whose prescribed motion this block follows (itself for a kinematic body; what its fixed vertices are
  // attached to for a deformable one; −1 is the world).
  virtual std::vector<int> followed_bodies() const { return {}; }

  // Rigid frames, and nodes whose positions are the q themselves (3 each, from the block's first position).
  virtual int num_frames() const { return 0; }
  virtual void CalcFrames(std::span<const double> q, std::span<const double> v,
                          std::span<FrameMotion> frames) const;
  virtual int num_nodes() const { return 0; }
  // A node that moves with a followed body: contact with what cannot move either is left out.
  virtual bool is_node_prescribed(int) const { return false; }

  // What holds each frame on the one before it: torque about the joint's origin, then force, in W, six numbers a frame, at
  // accelerations `vdot` under external `forces` on frames. Zero of frames that hang on nothing.
  virtual void CalcReactions(std::span<const double> /*q*/, std::span<const double> /*v*/,
                             std::span<const double> /*vdot*/, const Eigen::Vector3d& /*gravity*/,
                             std::span<const BlockForce> /*forces*/,
                             std::span<double> reactions) const {
    std::fill(reactions.begin(), reactions.end(), 0.0);
  }

  virtual double mass() const = 0;  // [kg]; 0 for a prescribed one
  virtual Eigen::Vector3d CalcCenterOfMass(std::span<const double> q) const = 0;
  // Velocity of a point attached to nodes [m/s]; only of blocks that have some.
  virtual Eigen::Vector3d CalcPointVelocity(std::span<const double> q, std::span<const double> v,
                                            const Attachment& point) const;
  // Angular velocity in W of the rigid motion that fits the nodes best (L = I ω); only of blocks that have some.
  virtual Eigen::Vector3d CalcAngularVelocity(std::span<const double> q,
                                              std::span<const double> v) const;
  // Linear momentum [kg·m/s], then angular about the world origin [kg·m²/s].
  virtual Eigen::Matrix<double, 6, 1> CalcMomentum(std::span<const double> q,
                                                   std::span<const double> v) const = 0;
  virtual double CalcKineticEnergy(std::span<const double> q,
                                   std::span<const double> v) const = 0;  // [J]
  virtual double CalcElasticEnergy(std::span<const double> q) const;      // [J]
  // Of gravity [m/s²], zero at the world's origin [J].
  virtual double CalcPotentialEnergy(std::span<const double> q,
                                     const Eigen::Vector3d& gravity) const;
  // How far at most what joints hold together is apart [m], [rad]: more than nothing in maximal coordinates.
  virtual double CalcDrift(std::span<const double> /*q*/) const { return 0; }
  // The part of its weight that a rigid frame feels.
  virtual double gravity_scale(int) const { return 1; }

  // Deformation, for blocks made of elements. Empty otherwise.
  virtual int num_elements() const { return 0; }
  virtual std::span<const double> element_volumes() const { return {}; }  // at rest [m³]
  // All components of an element, then the next. Of measures of deformation.
  virtual void CalcElementField(FieldMeasure measure, std::span<const double> q,
                                std::span<double> values) const;
  virtual double CalcVolume(std::span<const double> q) const;  // [m³]
};

}  // namespace pliant::physics
