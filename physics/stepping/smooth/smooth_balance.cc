#include "physics/stepping/smooth/smooth_balance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/dynamics/faults/fault.h"

namespace pliant::physics {

using solvers::BlockSum;

SmoothBalance::SmoothBalance(const Model& model) : model_(model), blocks_(model) {
  int num_frames = 0;
  for (const BlockAbilities& abilities : model.abilities) {
    first_frame_.push_back(num_frames);
    const int frames = abilities.frames != nullptr ? abilities.frames->num_frames() : 0;
    num_frames += frames;
    wrenches_.push_back(SpatialColumns::Zero(6, frames));
  }
  frames_.resize(num_frames);
  first_node_.resize(blocks_.count());
}

TrialConfiguration SmoothBalance::configuration() const {
  return {first_frame_, frames_, first_node_, node_positions_, node_velocities_};
}

void SmoothBalance::Start(const StepStages& stages, const State& state, double h,
                          std::vector<SmoothContact>* contacts, double row_stiffening) {
  state_ = &state;
  blocks_.Start(stages.blocks, state, h);
  for (int b = 0; b < blocks_.count(); ++b)
    first_node_[b] = blocks_.posed(b) != nullptr ? num_velocities() : blocks_.first_of(b);
  contacts_.Start(stages, state, contacts);
  rows_.Start(stages, row_stiffening);
}

void SmoothBalance::CalcTravel(std::span<double> x) const {
  CalcDifference(state_->q, q_, x);
  for (int b = 0; b < blocks_.count(); ++b) {
    if (blocks_.posed(b) != nullptr)
      std::ranges::copy(blocks_.VelocitiesOf(b, x_), blocks_.VelocitiesOf(b, x).begin());
  }
}

void SmoothBalance::Store(State* state) const {
  for (int b = 0; b < blocks_.count(); ++b) {
    if (!blocks_.is_awake(b)) continue;
    const MutableBlockState end = model_.StateOf(state, b);
    if (blocks_.posed(b) != nullptr) {
      blocks_.posed(b)->step().Integrate(blocks_.VelocitiesOf(b, v_), end);
      continue;
    }
    std::ranges::copy(blocks_.PositionsOf(b, q_), end.q.begin());
    std::ranges::copy(blocks_.VelocitiesOf(b, v_), end.v.begin());
    if (end.internals != nullptr) blocks_.balance(b).StoreInternals(end.internals);
  }
}

void SmoothBalance::StartStage(std::span<const double> q_hat, std::span<const double> v_hat,
                               double c, double time) {
  q_hat_.assign(q_hat.begin(), q_hat.end());
  v_hat_.assign(v_hat.begin(), v_hat.end());
  c_ = c;
  time_ = time;

  // weights from the mass at (q̂, v̂)
  weights_.assign(size(), 0.0);
  x_.assign(num_velocities(), 0.0);
  v_.assign(v_hat.begin(), v_hat.end());
  q_.assign(q_hat.begin(), q_hat.end());
  for (int b = 0; b < blocks_.count(); ++b) {
    if (!blocks_.is_awake(b)) continue;
    blocks_.balance(b).Place(time, blocks_.VelocitiesOf(b, x_), blocks_.PositionsOf(b, q_),
                             blocks_.VelocitiesOf(b, v_));
    wrenches_[b].setZero();
    blocks_.balance(b).CalcMassDiagonal(wrenches_[b], blocks_.VelocitiesOf(b, weights_));
  }
  for (int i = 0; i < num_velocities(); ++i)
    weights_[i] = weights_[i] > 0 ? 1 / std::sqrt(weights_[i]) : 1;
  rows_.SetWeights(weights_);
}

void SmoothBalance::PlaceAll(std::span<const double> v) {
  v_.assign(v.begin(), v.begin() + num_velocities());
  p_.assign(v.begin() + num_velocities(), v.end());
  x_.assign(num_velocities(), 0.0);
  q_ = q_hat_;
  node_positions_.assign(num_velocities(), 0.0);
  for (int b = 0; b < blocks_.count(); ++b) {
    const std::span<double> q = blocks_.PositionsOf(b, q_), x = blocks_.VelocitiesOf(b, x_),
                            v_block = blocks_.VelocitiesOf(b, v_);
    const BlockAbilities& abilities = model_.abilities[b];
    std::span<FrameMotion> frames;
    if (abilities.frames != nullptr)
      frames = std::span(frames_).subspan(first_frame_[b], abilities.frames->num_frames());
    wrenches_[b].setZero();
    if (blocks_.is_awake(b)) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = c_ * v_block[i];
      blocks_.balance(b).Advance(x, q);
      blocks_.balance(b).Place(time_, x, q, v_block);
      if (abilities.frames != nullptr) blocks_.balance(b).CalcFrames(frames);
    } else {
      std::ranges::fill(v_block, 0.0);
      if (abilities.frames != nullptr)
        abilities.frames->CalcFrames(model_.StateOf(*state_, b), frames);
    }
    // node positions, at the places of their velocities
    if (abilities.nodes != nullptr && blocks_.posed(b) == nullptr)
      std::copy_n(q.begin(), 3 * abilities.nodes->num_nodes(),
                  node_positions_.begin() + blocks_.first_of(b));
  }
  node_velocities_ = v_;
  contacts_.Place(c_, v_, &node_positions_, &node_velocities_);
}

bool SmoothBalance::CalcResidual(std::span<const double> v, std::span<double> r) {
  PlaceAll(v);
  a_.resize(num_velocities());
  for (int i = 0; i < num_velocities(); ++i) a_[i] = (v_[i] - v_hat_[i]) / c_;
  return CalcForces(a_, r);
}

bool SmoothBalance::CalcForces(std::span<const double> a, std::span<double> r) {
  return AddContactsAndRows(r) && AddForcesOfBlocks(a, r);
}

// Sets r to the impulses of contacts on nodes and of rows. Blocks receive wrenches on frames.
bool SmoothBalance::AddContactsAndRows(std::span<double> r) {
  std::ranges::fill(r, 0.0);
  status_ = absl::OkStatus();
  squares_ = 0;
  if (!contacts_.Add(configuration(), c_, weights_, r, wrenches_, &squares_)) return false;
  if (!rows_.is_empty()) {
    travel_.resize(num_velocities());
    CalcTravel(travel_);
    squares_ += rows_.Add({c_, time_, v_, travel_, p_}, r);
  }
  return true;
}

bool SmoothBalance::AddForcesOfBlocks(std::span<const double> a, std::span<double> r) {
  for (int b = 0; b < blocks_.count(); ++b) {
    const std::span<double> of_block = blocks_.VelocitiesOf(b, r);
    if (!blocks_.is_awake(b)) {
      std::ranges::fill(of_block, 0.0);
      continue;
    }
    of_block_.resize(of_block.size());
    const absl::Status status =
        blocks_.balance(b).CalcResidual(blocks_.VelocitiesOf(b, a), wrenches_[b], of_block_);
    for (std::size_t i = 0; i < of_block.size(); ++i) of_block[i] += c_ * of_block_[i];
    if (status.ok() && std::ranges::all_of(of_block, [](double x) { return std::isfinite(x); }))
      continue;
    status_ = FailAtBlock(
        model_, b, status.ok() ? absl::InternalError("the forces on it are not finite") : status);
    return false;
  }
  return std::ranges::all_of(r.subspan(num_velocities()),
                             [](double x) { return std::isfinite(x); });
}

double SmoothBalance::CalcPrescribedPower() const {
  double power = 0;
  for (int b = 0; b < blocks_.count(); ++b)
    if (blocks_.is_awake(b)) power += blocks_.balance(b).prescribed_power();
  return power;
}

double SmoothBalance::CalcStoredEnergy() const {
  double energy = rows_.energy();
  for (const SmoothContactForce& force : contacts_.forces()) energy += force.energy;
  return energy;
}

double SmoothBalance::CalcScale(std::span<const double> v) const {
  double moving = 0, base = 0;
  for (int i = 0; i < num_velocities(); ++i) {
    moving += v[i] * v[i] / (weights_[i] * weights_[i]);
    base += v_hat_[i] * v_hat_[i] / (weights_[i] * weights_[i]);
  }
  return std::sqrt(std::max({moving, base, squares_, 1e-28}));
}

void SmoothBalance::CalcJacobian(BlockSum* jacobian) {
  GroupUnknowns(jacobian);
  AddBlocks(c_, a_, jacobian);
  // only volumes have outer products (larionov2023 (20))
  if (!model_.method.smooth.exact_volume_tangent) jacobian->outers.clear();
  jacobian->num_lasting = jacobian->entries.size();
  rounding_ = CalcRounding(*jacobian);
  contacts_.AddJacobian(configuration(), with_sliding_basis, jacobian);
  rows_.AddJacobian(c_, jacobian);
}

// Adds the Jacobians of the blocks for a stage of length c; the identity for those that sleep.
void SmoothBalance::AddBlocks(double c, std::span<const double> a, BlockSum* jacobian) {
  for (int b = 0; b < blocks_.count(); ++b) {
    const int first = blocks_.first_of(b);
    if (blocks_.is_awake(b)) {
      blocks_.balance(b).AddJacobian(c, blocks_.VelocitiesOf(b, a), wrenches_[b], first, jacobian);
    } else {
      for (int i = 0; i < blocks_.size_of(b); ++i) jacobian->Add(first + i, first + i, 1);
    }
  }
}

// Rounding error of the residual: positions have errors dq of some 1e-16 of the largest one, which
// cause impulses c K dq, where c² K is the Jacobian without the mass.
double SmoothBalance::CalcRounding(const BlockSum& jacobian) const {
  double largest = 0;
  for (const double x : node_positions_) largest = std::max(largest, std::abs(x));
  for (const FrameMotion& frame : frames_) largest = std::max(largest, frame.X_WB.p.norm());
  const double dq = 4 * std::numeric_limits<double>::epsilon() * largest / c_;
  std::vector<double> diagonal(num_velocities(), 0.0);
  for (const BlockSum::Entry& entry : jacobian.entries)
    if (entry.row == entry.column) diagonal[entry.row] += entry.value;
  double squared = 0;
  for (int i = 0; i < num_velocities(); ++i) {
    const double w = weights_[i], stiffness = std::max(0.0, diagonal[i] - 1 / (w * w));
    squared += w * stiffness * dq * w * stiffness * dq;
  }
  for (const BlockSum::Outer& outer : jacobian.outers) {
    double of_u = 0, weighted = 0;
    for (std::size_t i = 0; i < outer.places.size(); ++i) {
      const double u = outer.values[i], scaled = u * weights_[outer.places[i]];
      of_u += u * u;
      weighted += scaled * scaled;
    }
    squared += weighted * outer.weight * dq * outer.weight * dq * of_u;
  }
  return std::sqrt(squared);
}

// The velocities of each block form groups of three: those of a node, or successive ones of a tree.
void SmoothBalance::GroupUnknowns(BlockSum* jacobian) const {
  for (int b = 1; b < blocks_.count(); ++b) jacobian->group_starts.push_back(blocks_.first_of(b));
  if (rows_.num_impulses() > 0) jacobian->group_starts.push_back(num_velocities());
  jacobian->num_last = rows_.num_impulses();
}

bool SmoothBalance::CalcStartForces(bool of_blocks) {
  // r = −c f with c = 1 s, at x = 0
  start_residual_.resize(size());
  std::vector<double> v(v_start());
  v.resize(size(), 0.0);
  c_ = 0;
  PlaceAll(v);
  c_ = 1;
  a_.assign(num_velocities(), 0.0);
  return of_blocks ? CalcForces(a_, start_residual_) : AddContactsAndRows(start_residual_);
}

bool SmoothBalance::CalcStartAccelerations(solvers::DampedNewton* solver, std::vector<double>* a) {
  BlockSum mass;
  mass.Clear(size());
  GroupUnknowns(&mass);
  const std::vector<double> zero(num_velocities(), 0.0);
  AddBlocks(0, zero, &mass);
  rows_.AddBilateral(&mass);
  std::vector<double> forces(size(), 0.0), solution(size());
  for (int i = 0; i < num_velocities(); ++i) forces[i] = -start_residual_[i];
  if (!solver->SolveLinear(mass, forces, solution)) return false;
  a->assign(solution.begin(), solution.begin() + num_velocities());
  rows_.TakeBilateral(solution);
  return true;
}

}  // namespace pliant::physics
