#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "physics/stepping/smooth/posed_balance.h"
#include "physics/stepping/smooth/smooth_contact.h"
#include "physics/stepping/step/stages.h"
#include "solvers/smooth/damped_newton.h"

namespace pliant::physics {

// The balance of one implicit stage over all blocks that are awake (larionov2023 §IV):
//
//   r(v, p) = M(q) (v − v̂) − c f(q, v) − c Σ Jᵀ F(q, v) − Σ Gᵀ p,   q = q̂ ⊞ c v
//
// with the forces F of contacts, limits, drives and dry friction, all at q and v. Bilateral
// constraints add unknown impulses p and an equation each, g(q) / c = 0. The unknowns are the
// velocities of the blocks, in the order of StepBlocks::spaces, followed by p.
//
// A block without an EquationOfMotion contributes the balance of its posed step, which computes its
// own positions and forces. The only stage is then that of implicit Euler over the whole step.
class SmoothBalance final : public solvers::SmoothSystem {
 public:
  explicit SmoothBalance(const Model& model);

  // Begins a step of length h from `state`. `stages` has its contacts and rows.
  void Start(const StepStages& stages, const State& state, double h,
             std::vector<SmoothContact>* contacts, double row_stiffening);
  // Contacts of the step. Those on a posed block are attached to nodes of their own, which move by
  // the block's rows.
  std::span<const ContactPoint> contact_points() const { return contact_points_; }
  // Velocities at the start of the step.
  const std::vector<double>& v_start() const { return v_start_; }
  // Begins a stage of length c [s] from (q̂, v̂) that ends at `time` after the start of the step
  // [s].
  void StartStage(std::span<const double> q_hat, std::span<const double> v_hat, double c,
                  double time);

  // Places all blocks at v, without forces.
  void PlaceAll(std::span<const double> v);
  // Forces at the start of the step, for contact_forces() and row_forces(). Needs StartStage with
  // c = 0.
  bool CalcStartForces();

  int size() const override { return num_velocities_ + num_impulses_; }
  int num_velocities() const { return num_velocities_; }
  bool CalcResidual(std::span<const double> v, std::span<double> r) override;
  void CalcJacobian(solvers::BlockSum* jacobian) override;
  double rounding() const override { return rounding_; }
  absl::Status status() const { return status_; }  // of the last residual

  // Scaling of the unknowns: 1/√m of the diagonal of the mass, 1/√W for impulses. CalcScale gives
  // the size of the terms of the last residual in this norm.
  const std::vector<double>& weights() const { return weights_; }
  double CalcScale(std::span<const double> v) const;

  // a with M(q) a = f(q, v) at the start of the step. Needs CalcStartForces.
  bool CalcStartAccelerations(solvers::DampedNewton* solver, std::vector<double>* a);

  // Trial point of the last residual, and forces there.
  const std::vector<double>& q() const { return q_; }
  const std::vector<double>& v() const { return v_; }
  const std::vector<SmoothContactForce>& contact_forces() const { return contact_forces_; }
  const std::vector<double>& row_forces() const { return row_forces_; }  // [N], of every row
  double smallest_limit_gap() const { return smallest_limit_gap_; }      // in units of δ
  TrialConfiguration configuration() const;

  // x with q0 ⊞ x = q1, and q ← q ⊞ x, for all blocks that are not posed.
  void CalcDifference(std::span<const double> q0, std::span<const double> q1,
                      std::span<double> x) const;
  void Advance(std::span<const double> x, std::span<double> q) const;
  // x from the start of the step to the trial point, for all blocks.
  void CalcTravel(std::span<double> x) const;
  // Stores the trial point as the end of the step.
  void Store(State* state) const;

  bool with_sliding_basis = true;  // see DifferentiateContact

 private:
  struct RowEntry {
    int first, columns;  // velocities
    const double* J;
  };
  // A node of a contact on a posed block: its rows on the unknowns are some of posed_rows_.
  struct ContactNode {
    Eigen::Vector3d start_W, prescribed_W;
    int first_row, num_rows;
  };
  struct PosedRow {
    int first, columns;  // unknowns
    std::size_t values;  // 3 × columns, column-major
  };
  bool IsAwake(int block) const { return !stages_->blocks.sleeping.sleeps(block); }
  bool IsPosed(const Attachment& side) const {
    return side.block != kWorldBlock && posed_[side.block] != nullptr;
  }
  int first_of(int block) const { return stages_->blocks.spaces.offsets[block]; }
  int size_of(int block) const { return first_of(block + 1) - first_of(block); }
  void AttachToPosed(Attachment* side);
  std::span<const PosedRow> RowsOf(int contact_node) const {
    const ContactNode& node = contact_nodes_[contact_node];
    return std::span(posed_rows_).subspan(node.first_row, node.num_rows);
  }
  Eigen::Vector3d ColumnOf(const PosedRow& row, int j) const {
    return VectorAt(std::span<const double>(posed_values_), static_cast<int>(row.values) + 3 * j);
  }
  void PlaceContactNodes();
  bool CalcForces(std::span<const double> a, std::span<double> r);
  bool AddContactForces(std::span<double> r);  // false beyond a barrier
  void GroupUnknowns(solvers::BlockSum* jacobian) const;
  double CalcRounding(const solvers::BlockSum& jacobian) const;
  // A contact without a force adds zeros.
  void AddContactJacobian(const SmoothContact& contact, bool acts, solvers::BlockSum* jacobian);
  void AddWithin(const Attachment& on, const Attachment& of, const Eigen::MatrixXd& block,
                 solvers::BlockSum* jacobian);
  bool AddRowForces(std::span<double> r, std::span<const double> p);
  void AddRowJacobian(solvers::BlockSum* jacobian);
  double CalcRowForce(int row, double gap, double rate, double* by_gap, double* by_rate) const;
  bool IsBilateral(int row) const;

  const Model& model_;
  const StepStages* stages_ = nullptr;
  const State* state_ = nullptr;
  double h_ = 0;
  std::vector<std::unique_ptr<ForceBalance>> blocks_;
  std::vector<PosedBalance*> posed_;  // of each block; null for one with an equation of motion
  bool is_any_posed_ = false;
  std::span<const ContactPoint> contact_points_;
  std::vector<ContactPoint> attached_points_;  // if any block is posed
  std::vector<ContactNode> contact_nodes_;
  std::vector<PosedRow> posed_rows_;
  std::vector<double> posed_values_;
  BlockRows rows_;  // scratch
  std::vector<double> v_start_;
  std::vector<SmoothContact>* contacts_ = nullptr;
  double row_stiffening_ = 1;
  int num_velocities_ = 0, num_impulses_ = 0;
  std::vector<int> velocity_of_participant_;  // of the State
  std::vector<int> first_row_entry_;
  std::vector<RowEntry> row_entries_;
  std::vector<int> impulse_of_row_;  // −1 if its force is a function of the motion
  std::vector<double> weights_;

  // the stage
  std::vector<double> q_hat_, v_hat_;
  double c_ = 0, time_ = 0;

  // the last residual
  std::vector<double> start_residual_, v_, x_, q_, a_, p_;
  // Those of a block's nodes start at the index of its first velocity; those of the contact nodes
  // follow after all velocities.
  std::vector<double> node_positions_, node_velocities_;
  std::vector<int> first_frame_, first_node_;
  std::vector<FrameMotion> frames_;
  std::vector<SpatialColumns> wrenches_;
  std::vector<FrameDerivatives> derivatives_;  // of each frame
  std::vector<char> has_derivatives_;
  std::vector<SmoothContactForce> contact_forces_;
  std::vector<double> row_forces_, row_by_gap_, row_by_rate_;
  double smallest_limit_gap_ = 0;
  double contact_size_ = 0;  // squared
  double rounding_ = 0;
  absl::Status status_;
};

}  // namespace pliant::physics
