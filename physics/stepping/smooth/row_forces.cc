#include "physics/stepping/smooth/row_forces.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers/smooth/contact_law.h"

namespace pliant::physics {
namespace {

using solvers::BlockSum;
using solvers::ConstraintSystem;

// Acceleration that sets the stiffness of joint limits where there is no gravity [m/s²].
constexpr double kMinAcceleration = 1;
// Compliance of bilateral rows, relative to W, with which redundant rows share their impulse.
constexpr double kRedundancy = 1e-12;
// Error at which a rigid constraint with a bounded force reaches its bound, in units of δ.
constexpr double kBoundedTravel = 0.1;
// Half width of the smooth transition of a drive's force to its bound, relative to the bound.
constexpr double kBend = 0.02;

// Smooth minimum of f and `upper`, with a continuous derivative, by which *slope is multiplied.
double CutAbove(double f, double upper, double* slope) {
  if (!std::isfinite(upper)) return f;
  const double bend = kBend * std::max(std::abs(upper), 1e-9), t = f - (upper - bend);
  if (t <= 0) return f;
  if (t >= 2 * bend) {
    *slope = 0;
    return upper;
  }
  *slope *= 1 - t / (2 * bend);
  return upper - bend + t - t * t / (4 * bend);
}

bool IsBounded(const ConstraintSystem::Row& row) {
  return row.lower < 0 && row.upper > 0;
}

bool IsBilateral(const ConstraintSystem::Row& row) {
  return !row.dry_friction && std::isinf(row.stiffness) && std::isinf(row.lower) &&
         std::isinf(row.upper);
}

bool IsLimit(const ConstraintSystem::Row& row) {
  return !row.dry_friction && std::isinf(row.stiffness) && !IsBounded(row);
}

}  // namespace

void RowForces::Start(const StepStages& stages, double stiffening) {
  stiffening_ = stiffening;
  rows_ = stages.system.rows;
  const Participation& participation = stages.participation;
  velocity_of_participant_.resize(participation.num_velocities);
  for (const Participation::Block& block : participation.blocks) {
    const VelocitySpace& space = blocks_.step(block.block).space();
    for (int g = block.first_group; g < block.first_group + block.num_groups; ++g) {
      const int offset =
          blocks_.first_of(block.block) + space.group_offset(participation.groups[g]);
      for (int i = 0; i < participation.size_of_group(g); ++i)
        velocity_of_participant_[participation.group_velocities[g] + i] = offset + i;
    }
  }
  entries_.clear();
  starts_.assign(1, 0);
  impulse_of_.clear();
  num_impulses_ = 0;
  energy_ = 0;
  smallest_limit_gap_ = std::numeric_limits<double>::infinity();
  for (const ConstraintSystem::Row& row : rows_) {
    for (const ConstraintSystem::Entry& entry : stages.system.entries_of(row)) {
      entries_.push_back({velocity_of_participant_[stages.system.first_of(entry)], entry.columns,
                          stages.system.J(entry)});
    }
    starts_.push_back(static_cast<int>(entries_.size()));
    impulse_of_.push_back(IsBilateral(row) ? blocks_.num_velocities() + num_impulses_++ : -1);
  }
  for (auto* x : {&forces_, &by_gap_, &by_rate_}) x->assign(rows_.size(), 0.0);
}

void RowForces::SetWeights(std::span<double> weights) const {
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const double W = rows_[k].W;
    if (impulse_of_[k] >= 0) weights[impulse_of_[k]] = W > 0 ? 1 / std::sqrt(W) : 1;
  }
}

// Force of a row, and its derivatives with respect to gap and rate.
double RowForces::CalcForce(std::size_t k, double gap, double rate, double* by_gap,
                            double* by_rate) const {
  const ConstraintSystem::Row& row = rows_[k];
  const SmoothOptions& options = blocks_.model().method.smooth;
  *by_gap = *by_rate = 0;
  if (row.dry_friction) {
    const double x = std::abs(rate) / options.stick_speed;
    *by_rate = x < 1 ? -row.upper * (2 - 2 * x) / options.stick_speed : 0;
    return -row.upper * solvers::CalcSlipFactor(x) * rate / options.stick_speed;
  }
  if (IsLimit(row)) {
    // yields by about δ under a load like that of gravity
    const double distance = options.contact_distance;
    const double a = std::max(blocks_.model().gravity.norm(), kMinAcceleration);
    const double K = stiffening_ * 4 * a / (3 * distance * row.W);
    const double sign = row.lower == 0 ? 1 : -1, depth = std::max(0.0, -sign * gap);
    *by_gap = -6 * K * depth / distance;
    return sign * 3 * K * depth * depth / distance;
  }
  double stiffness = row.stiffness;
  if (std::isinf(stiffness))
    stiffness = std::max(-row.lower, row.upper) / (kBoundedTravel * options.contact_distance);
  double slope = 1;
  double force = row.feedforward - stiffness * gap - row.damping * (rate - row.target_rate);
  force = CutAbove(force, row.upper, &slope);
  force = -CutAbove(-force, -row.lower, &slope);
  *by_gap = -stiffness * slope;
  *by_rate = -row.damping * slope;
  return force;
}

double RowForces::Add(const Trial& trial, std::span<double> r) {
  smallest_limit_gap_ = std::numeric_limits<double>::infinity();
  energy_ = 0;
  double squares = 0;
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const ConstraintSystem::Row& row = rows_[k];
    double gap = row.error + trial.time * row.bias, rate = row.bias;
    for (const Entry& entry : EntriesOf(k)) {
      for (int i = 0; i < entry.columns; ++i) {
        gap += entry.J[i] * trial.travel[entry.first + i];
        rate += entry.J[i] * trial.v[entry.first + i];
      }
    }
    double impulse = 0;
    if (const int unknown = impulse_of_[k]; unknown >= 0) {
      impulse = trial.impulses[unknown - blocks_.num_velocities()];
      r[unknown] = gap / trial.c + kRedundancy * row.W * impulse;
      forces_[k] = impulse / trial.c;
    } else {
      forces_[k] = CalcForce(k, gap, rate, &by_gap_[k], &by_rate_[k]);
      impulse = trial.c * forces_[k];
      if (IsLimit(row)) {
        const double distance = blocks_.model().method.smooth.contact_distance;
        const double inside = row.lower == 0 ? gap : -gap;
        smallest_limit_gap_ = std::min(smallest_limit_gap_, inside / distance);
        // its force is as the square of the depth
        energy_ += std::abs(forces_[k]) * std::max(0.0, -inside) / 3;
      }
    }
    for (const Entry& entry : EntriesOf(k)) {
      for (int i = 0; i < entry.columns; ++i) r[entry.first + i] -= entry.J[i] * impulse;
    }
    squares += row.W * impulse * impulse;
  }
  return squares;
}

void RowForces::AddJacobian(double c, BlockSum* jacobian) const {
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    if (impulse_of_[k] >= 0) continue;
    const double slope = -c * (c * by_gap_[k] + by_rate_[k]);
    for (const Entry& entry : EntriesOf(k)) {
      for (int i = 0; i < entry.columns; ++i) {
        for (const Entry& other : EntriesOf(k)) {
          for (int j = 0; j < other.columns; ++j)
            jacobian->Add(entry.first + i, other.first + j, slope * entry.J[i] * other.J[j]);
        }
      }
    }
  }
  AddBilateral(jacobian);
}

void RowForces::AddBilateral(BlockSum* mass) const {
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const int unknown = impulse_of_[k];
    if (unknown < 0) continue;
    for (const Entry& entry : EntriesOf(k)) {
      for (int i = 0; i < entry.columns; ++i) {
        mass->Add(entry.first + i, unknown, -entry.J[i]);
        mass->Add(unknown, entry.first + i, entry.J[i]);
      }
    }
    mass->Add(unknown, unknown, kRedundancy * rows_[k].W);
  }
}

void RowForces::TakeBilateral(std::span<const double> solution) {
  for (std::size_t k = 0; k < rows_.size(); ++k)
    if (impulse_of_[k] >= 0) forces_[k] = solution[impulse_of_[k]];
}

}  // namespace pliant::physics
