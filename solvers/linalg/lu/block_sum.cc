#include "solvers/linalg/lu/block_sum.h"

#include <algorithm>

namespace pliant::solvers {

void BlockSum::Multiply(std::span<const double> x, std::span<double> y) const {
  std::ranges::fill(y, 0.0);
  for (const Entry& entry : entries) y[entry.row] += entry.value * x[entry.column];
  for (const Outer& outer : outers) {
    double along = 0;
    for (std::size_t i = 0; i < outer.places.size(); ++i)
      along += outer.values[i] * x[outer.places[i]];
    along *= outer.weight;
    for (std::size_t i = 0; i < outer.places.size(); ++i)
      y[outer.places[i]] += along * outer.values[i];
  }
}

}  // namespace pliant::solvers
