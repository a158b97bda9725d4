#pragma once

#include <string_view>
#include <vector>

#include "physics/dynamics/stage.h"

namespace pliant::physics {

// A time integrator of one stage: how far between the start and the end of a step forces and
// velocities are taken. docs/extending.md, "An integrator".
class Integrator {
 public:
  virtual ~Integrator() = default;
  virtual std::string_view name() const = 0;  // as in scenes: IMPLICIT_EULER
  // The stage of a step of length h [s]; its blends sum as those of implicit Euler do where the
  // integrator is consistent: move.sum() = force_rate.sum() = 1.
  virtual Stage MakeStage(double h) const = 0;
};

// All that are registered, and the one of a name; null when there is none.
std::vector<const Integrator*> AllIntegrators();
const Integrator* FindIntegrator(std::string_view name);

}  // namespace pliant::physics
