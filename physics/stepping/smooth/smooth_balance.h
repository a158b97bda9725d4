#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"

#include "physics/stepping/smooth/balance_blocks.h"
#include "physics/stepping/smooth/contact_forces.h"
#include "physics/stepping/smooth/row_forces.h"
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
// A world with a block that has no EquationOfMotion is stepped by a single stage: that of implicit
// Euler over the whole step.
class SmoothBalance final : public solvers::SmoothSystem {
 public:
  explicit SmoothBalance(const Model& model);

  // Begins a step of length h from `state`. `stages` has its contacts and rows; `contacts` on
  // contact_points() may be made later.
  void Start(const StepStages& stages, const State& state, double h,
             std::vector<SmoothContact>* contacts, double row_stiffening);
  std::span<const ContactPoint> contact_points() const { return contacts_.points(); }
  // Velocities at the start of the step.
  const std::vector<double>& v_start() const { return blocks_.v_start(); }
  // Begins a stage of length c [s] from (q̂, v̂) that ends at `time` after the start of the step
  // [s].
  void StartStage(std::span<const double> q_hat, std::span<const double> v_hat, double c,
                  double time);

  // See ForceBalance.
  void UseMeanRates(bool uses) { blocks_.UseMeanRates(uses); }

  // Places all blocks at v, without forces.
  void PlaceAll(std::span<const double> v);
  // Forces at the start of the step, for contact_forces() and row_forces(), and those `of_blocks`
  // for CalcStartAccelerations. Needs StartStage with c = 0.
  bool CalcStartForces(bool of_blocks);

  int size() const override { return num_velocities() + rows_.num_impulses(); }
  int num_velocities() const { return blocks_.num_velocities(); }
  bool CalcResidual(std::span<const double> v, std::span<double> r) override;
  void StartSolve() override { contacts_.StartSolve(); }
  void CalcJacobian(solvers::BlockSum* jacobian) override;
  double rounding() const override { return rounding_; }
  absl::Status status() const {
    return status_;
  }  // of the last residual, with the place of an error

  // Scaling of the unknowns: 1/√m of the diagonal of the mass, 1/√W for impulses. CalcScale gives
  // the size of the terms of the last residual in this norm.
  const std::vector<double>& weights() const { return weights_; }
  double CalcScale(std::span<const double> v) const;

  // a with M(q) a = f(q, v) at the start of the step. Needs CalcStartForces.
  bool CalcStartAccelerations(solvers::DampedNewton* solver, std::vector<double>* a);

  // Trial point of the last residual, and forces there.
  const std::vector<double>& q() const { return q_; }
  const std::vector<double>& v() const { return v_; }
  const std::vector<SmoothContactForce>& contact_forces() const { return contacts_.forces(); }
  const std::vector<double>& row_forces() const { return rows_.forces(); }  // [N], of every row
  double smallest_limit_gap() const { return rows_.smallest_limit_gap(); }  // in units of δ
  // Power that blocks take from what holds their prescribed velocities [W].
  double CalcPrescribedPower() const;
  // Energy stored by contacts and limits [J].
  double CalcStoredEnergy() const;
  TrialConfiguration configuration() const;

  // x with q0 ⊞ x = q1, and q ← q ⊞ x, for all blocks that are not posed.
  void CalcDifference(std::span<const double> q0, std::span<const double> q1,
                      std::span<double> x) const {
    blocks_.CalcDifference(q0, q1, x);
  }
  void Advance(std::span<const double> x, std::span<double> q) const { blocks_.Advance(x, q); }
  // x from the start of the step to the trial point, for all blocks.
  void CalcTravel(std::span<double> x) const;
  // Stores the trial point as the end of the step.
  void Store(State* state) const;

  bool with_sliding_basis = true;  // see DifferentiateContact

 private:
  bool CalcForces(std::span<const double> a, std::span<double> r);
  bool AddContactsAndRows(std::span<double> r);
  bool AddForcesOfBlocks(std::span<const double> a, std::span<double> r);
  void GroupUnknowns(solvers::BlockSum* jacobian) const;
  void AddBlocks(double c, std::span<const double> a, solvers::BlockSum* jacobian);
  double CalcRounding(const solvers::BlockSum& jacobian) const;

  const Model& model_;
  BalanceBlocks blocks_;
  ContactForces contacts_{&blocks_};
  RowForces rows_{&blocks_};
  const State* state_ = nullptr;
  std::vector<double> weights_;

  // the stage
  std::vector<double> q_hat_, v_hat_;
  double c_ = 0, time_ = 0;

  // the last residual
  std::vector<double> start_residual_, v_, x_, q_, a_, p_, travel_, of_block_;
  // The positions and velocities of a block's nodes start at the index of its first velocity. The
  // nodes that belong to contacts alone have the indices after all velocities.
  std::vector<double> node_positions_, node_velocities_;
  std::vector<int> first_frame_, first_node_;
  std::vector<FrameMotion> frames_;
  std::vector<SpatialColumns> wrenches_;
  double squares_ = 0;  // of the impulses of contacts and rows, over masses
  double rounding_ = 0;
  absl::Status status_;
};

}  // namespace pliant::physics
