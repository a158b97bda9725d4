#pragma once

#include <string_view>
#include <vector>

#include "physics/dynamics/stage.h"

namespace pliant::physics {

// A single-stage time integrator: where between the start and the end of a step forces and
// velocities are evaluated. docs/extending.md, "An integrator".
class Integrator {
 public:
  virtual ~Integrator() = default;
  virtual std::string_view name() const = 0;  // as in scenes: IMPLICIT_EULER
  // The stage of a step of length h [s]. The blends of a consistent integrator sum as those of
  // implicit Euler: move.sum() = force_rate.sum() = 1.
  virtual Stage MakeStage(double h) const = 0;
};

// All registered integrators, and lookup by name; null when there is none.
std::vector<const Integrator*> AllIntegrators();
const Integrator* FindIntegrator(std::string_view name);

}  // namespace pliant::physics
