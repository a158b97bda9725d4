#include "physics/stepping/integrators/theta_method.h"

#include "physics/stepping/integrators/integrator.h"

namespace pliant::physics {
namespace {

// The θ-method with a fixed θ = θ_vq.
class FixedTheta final : public Integrator {
 public:
  FixedTheta(std::string_view name, double theta) : name_(name), theta_(theta) {}
  std::string_view name() const override { return name_; }
  Stage MakeStage(double h) const override { return ThetaMethod(h, theta_, theta_); }

 private:
  std::string_view name_;
  double theta_;
};

}  // namespace

const Integrator* ImplicitEulerIntegrator() {
  static const FixedTheta integrator("IMPLICIT_EULER", 1);
  return &integrator;
}

const Integrator* MidpointIntegrator() {
  static const FixedTheta integrator("MIDPOINT", 0.5);
  return &integrator;
}

}  // namespace pliant::physics
