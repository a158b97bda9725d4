#include "physics/stepping/integrators/integrator.h"
#include "physics/stepping/integrators/theta_method.h"

namespace pliant::physics {
namespace {

// Evaluates forces slightly after the midpoint of the step: first order, with a sixth of the
// damping of implicit Euler.
class DampedMidpoint final : public Integrator {
 public:
  std::string_view name() const override { return "DAMPED_MIDPOINT"; }
  Stage MakeStage(double h) const override {
    constexpr double kTheta = 0.5 + 1.0 / 12;
    return ThetaMethod(h, kTheta, kTheta);
  }
};

}  // namespace

const Integrator* DampedMidpointIntegrator() {
  static const DampedMidpoint integrator;
  return &integrator;
}

}  // namespace pliant::physics
