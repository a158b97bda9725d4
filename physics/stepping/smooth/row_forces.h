#pragma once

#include <limits>
#include <span>
#include <vector>

#include "physics/stepping/smooth/balance_blocks.h"
#include "physics/stepping/step/stages.h"
#include "solvers/linalg/lu/block_sum.h"

namespace pliant::physics {

// Forces of the scalar rows of a step in the smooth balance: drives, limits, dry friction, and
// bilateral constraints. Bilateral rows add unknown impulses p after the velocities, and an
// equation g(q) / c = 0 each; the forces of the others are functions of the motion.
class RowForces {
 public:
  explicit RowForces(const BalanceBlocks* blocks) : blocks_(*blocks) {}

  // Takes the rows of a step, whose limits are stiffer by a factor.
  void Start(const StepStages& stages, double stiffening);

  bool is_empty() const { return rows_.empty(); }
  int num_impulses() const { return num_impulses_; }
  // Sets the weights of the unknown impulses to 1/√W.
  void SetWeights(std::span<double> weights) const;

  // A trial point of a stage of length c [s] that ends at `time` from the start of the step [s];
  // `travel` from there (see SmoothBalance::CalcTravel).
  struct Trial {
    double c, time;
    std::span<const double> v, travel, impulses;
  };
  // Subtracts the rows' impulses from r, and sets its part of the bilateral equations. Returns the
  // sum of their squares times W.
  double Add(const Trial& trial, std::span<double> r);
  // Adds the derivatives of r at the last trial point.
  void AddJacobian(double c, solvers::BlockSum* jacobian) const;

  // Adds the bilateral rows to a matrix of masses whose solution has the forces of bilateral rows
  // after the accelerations, and takes these forces from it.
  void AddBilateral(solvers::BlockSum* mass) const;
  void TakeBilateral(std::span<const double> solution);

  // At the last trial point.
  const std::vector<double>& forces() const { return forces_; }      // [N], of every row
  double smallest_limit_gap() const { return smallest_limit_gap_; }  // in units of δ
  double energy() const { return energy_; }                          // stored by limits [J]

 private:
  struct Entry {
    int first, columns;  // velocities
    const double* J;
  };
  std::span<const Entry> EntriesOf(std::size_t row) const {
    return std::span(entries_).subspan(starts_[row], starts_[row + 1] - starts_[row]);
  }
  double CalcForce(std::size_t row, double gap, double rate, double* by_gap, double* by_rate) const;

  const BalanceBlocks& blocks_;
  std::span<const solvers::ConstraintSystem::Row> rows_;
  double stiffening_ = 1;
  std::vector<Entry> entries_;
  std::vector<int> starts_;      // of each row's entries, and their end
  std::vector<int> impulse_of_;  // unknown of each row; −1: its force is a function of the motion
  int num_impulses_ = 0;

  // the last trial point
  std::vector<double> forces_, by_gap_, by_rate_;
  double smallest_limit_gap_ = std::numeric_limits<double>::infinity();
  double energy_ = 0;

  std::vector<int> velocity_of_participant_;  // scratch
};

}  // namespace pliant::physics
