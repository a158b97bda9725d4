#pragma once

#include <array>
#include <span>
#include <vector>

namespace pliant::solvers {

// Sets of six rows on twelve velocities, in compliance form: the constraints inside a mechanism or
// a deformable body, either a joint between two bodies of six velocities or a tetrahedron between
// four particles (macklin2019 §9).
inline constexpr int kSetRows = 6;
inline constexpr int kSetColumns = 12;

// The first of each three consecutive velocities of a set; −1: none, and the columns of J are zero.
using SetColumns = std::array<int, 4>;

// Evaluates the rows at velocities v and forces λ: error(v, λ), h J = ∂error/∂v, and E = ∂error/∂λ,
// positive semi-definite. The rows exert h Jᵀ λ. Arrays hold, set by set, J by rows [1], E [m/N],
// and the error [m].
class RowSets {
 public:
  virtual ~RowSets() = default;
  // False when something is not finite.
  virtual bool Evaluate(std::span<const double> v, std::span<const double> lambda,
                        std::span<double> J, std::span<double> E, std::span<double> error) = 0;
};

// z += Jᵀ x and y ← J z of all sets.
void AddSetsTransposed(std::span<const SetColumns> columns, std::span<const double> J,
                       std::span<const double> x, std::span<double> z);
void MultiplySets(std::span<const SetColumns> columns, std::span<const double> J,
                  std::span<const double> z, std::span<double> y);

}  // namespace pliant::solvers
