#pragma once

#include <array>
#include <memory>
#include <span>

namespace pliant::physics {

class BlockStep;

// A posed BlockStep in compliance form (macklin2019 §9): each of its groups of velocities is a body
// of its own, so that A is block-diagonal by group. Sets of six rows on twelve velocities couple
// the groups: a tetrahedron on four nodes, a joint between two links.
class CompliantForm {
 public:
  // First velocities, in the block, of four runs of three consecutive velocities; −1: none.
  using Set = std::array<int, 4>;

  virtual ~CompliantForm() = default;
  // A of a group, size × size; empty for a group with prescribed motion.
  virtual std::span<const double> group_mass(int group) const = 0;
  // `group_mass` plus the group's diagonal part of the resistance of the sets at the start of the
  // step: approximately the inertia that a row on the group meets. Empty only where the mass is.
  virtual std::span<const double> group_inertia(int group) const { return group_mass(group); }
  // True if groups are particles, to which geometric stiffness applies.
  virtual bool are_particles() const = 0;
  virtual std::span<const Set> sets() const = 0;
  // Evaluates the rows at the end of the step, with velocities v of the whole block and `forces`:
  // error(v, forces) [m] with h J = ∂error/∂v and E = ∂error/∂forces. The rows exert h Jᵀ forces.
  // Output for each set in turn: J (6 × 12, row-major), E (6 × 6, symmetric and positive
  // semi-definite) and the error. False when a value is not finite.
  virtual bool Evaluate(std::span<const double> v, std::span<const double> forces,
                        std::span<double> J, std::span<double> E, std::span<double> error) = 0;
  // Sets whose indefinite compliance was projected: the largest number in any one Evaluate of the
  // step.
  virtual int max_projected() const { return 0; }
};

// A block with a step in compliance form besides its usual one.
class Compliant {
 public:
  virtual ~Compliant() = default;
  virtual std::unique_ptr<BlockStep> NewCompliantStep() const = 0;
};

}  // namespace pliant::physics
