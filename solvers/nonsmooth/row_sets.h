#pragma once

#include <array>
#include <span>
#include <vector>

namespace pliant::solvers {

// Sets of six rows on twelve velocities, in compliance form: what holds the bodies of a mechanism
// or of a deformable together, a joint between two bodies of six velocities or a tetrahedron
// between four particles (macklin2019 §9).
inline constexpr int kSetRows = 6;
inline constexpr int kSetColumns = 12;

// Where a set's velocities are: four times three that follow each other; −1: none, and its columns
// of J are zero.
using SetColumns = std::array<int, 4>;

// The rows at velocities v and forces λ: error(v, λ), with h J = ∂error/∂v, and E = ∂error/∂λ,
// positive semi-definite. They exert h Jᵀ λ. Of each set in turn J, row by row, [1], E [m/N], and
// the error [m].
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
