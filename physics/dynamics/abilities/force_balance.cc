#include "physics/dynamics/abilities/force_balance.h"

#include <algorithm>

namespace pliant::physics {

void ForceBalance::CalcMassDiagonal(const SpatialColumns& wrenches, std::span<double> diagonal) {
  solvers::BlockSum mass;
  mass.Clear(static_cast<int>(diagonal.size()));
  const std::vector<double> zero(diagonal.size(), 0.0);
  AddJacobian(0, zero, wrenches, 0, &mass);
  std::ranges::fill(diagonal, 0.0);
  for (const solvers::BlockSum::Entry& entry : mass.entries)
    if (entry.row == entry.column) diagonal[entry.row] += entry.value;
}

}  // namespace pliant::physics
