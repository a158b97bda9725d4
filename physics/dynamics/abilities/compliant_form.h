#pragma once

#include <array>
#include <span>

namespace pliant::physics {

// A block in compliance form (macklin2019 §9): each of its groups of velocities is a body of its
// own, so that A is block-diagonal by group, and sets of six rows on twelve velocities hold them
// together: a tetrahedron between four nodes, a joint between two links. Of a BlockStep that was
// posed.
class CompliantForm {
 public:
  // First velocities, in the block, of four times three that follow each other; −1: none.
  using Set = std::array<int, 4>;

  virtual ~CompliantForm() = default;
  // A of a group, size × size; empty of one whose motion is prescribed.
  virtual std::span<const double> group_mass(int group) const = 0;
  // The same with what sets resist with where the step starts, as far as it is given by the group
  // alone: what a row on it moves, about. Never empty where the mass is not.
  virtual std::span<const double> group_inertia(int group) const { return group_mass(group); }
  // Whether groups are particles, which take geometric stiffness.
  virtual bool are_particles() const = 0;
  virtual std::span<const Set> sets() const = 0;
  // The rows at the end of the step, reached with velocities v of the whole block, under `forces`:
  // error(v, forces) [m] with h J = ∂error/∂v and E = ∂error/∂forces. They exert h Jᵀ forces. Of
  // each set in turn: J (6 × 12, row by row), E (6 × 6, symmetric and positive semi-definite) and
  // the error. False when something is not finite.
  virtual bool Evaluate(std::span<const double> v, std::span<const double> forces,
                        std::span<double> J, std::span<double> E, std::span<double> error) = 0;
};

}  // namespace pliant::physics
