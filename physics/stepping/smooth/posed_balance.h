#pragma once

#include <span>
#include <vector>

#include "physics/dynamics/block.h"

namespace pliant::physics {

// The balance of a block whose forces are known only in a step of implicit Euler: that of its posed
// step, at the end of the step. Its unknowns are those of the step, and its positions follow when
// the step is stored.
class PosedBalance final : public ForceBalance {
 public:
  // Uses a posed step, which must outlive this use.
  void Use(BlockStep* step) { step_ = step; }
  BlockStep& step() const { return *step_; }

  void Start(const BlockState& start, const BlockInputs& inputs, double h) override;
  void Advance(std::span<const double> x, std::span<double> q) const override;
  void CalcDifference(std::span<const double> q0, std::span<const double> q1,
                      std::span<double> x) const override;
  void Place(double time, std::span<const double> x, std::span<double> q,
             std::span<double> v) override;
  absl::Status CalcResidual(std::span<const double> a, const SpatialColumns& wrenches,
                            std::span<double> residual) override;
  // The diagonal alone for c = 0, with the stiffness at the start of the step.
  void AddJacobian(double c, std::span<const double> a, const SpatialColumns& wrenches, int first,
                   solvers::BlockSum* jacobian) override;
  // Adds a block of terms on a pair of groups to the entries of the last AddJacobian, where it has
  // them: contacts within the body then add no entries, and places do not depend on which of them
  // act. `values` column-major, columns `stride` apart.
  void AddTerms(int row, int column, int height, int width, const double* values, int stride,
                solvers::BlockSum* jacobian) const;

 private:
  BlockStep* step_ = nullptr;
  double h_ = 0;
  int first_ = 0;                // row and column of the last AddJacobian
  std::size_t first_entry_ = 0;  // of its matrix
  const solvers::BlockMatrix* matrix_ = nullptr;
  std::vector<double> v_;                  // where the block is placed
  std::vector<double> diagonal_, column_;  // scratch
};

}  // namespace pliant::physics
