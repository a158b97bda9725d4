#include "physics/stepping/integrators/integrator.h"

namespace pliant::physics {
namespace {

// Forces a little behind the middle of the step: of first order, with a sixth of the damping that
// implicit Euler has.
class DampedMidpoint final : public Integrator {
 public:
  std::string_view name() const override { return "DAMPED_MIDPOINT"; }
  Stage MakeStage(double h) const override {
    constexpr double kTheta = 0.5 + 1.0 / 12;
    Stage stage;
    stage.h = h;
    stage.move = {1 - kTheta, kTheta};
    stage.force_move = {kTheta * (1 - kTheta), kTheta * kTheta};
    stage.force_rate = {1 - kTheta, kTheta};
    return stage;
  }
};

}  // namespace

const Integrator* DampedMidpointIntegrator() {
  static const DampedMidpoint integrator;
  return &integrator;
}

}  // namespace pliant::physics
