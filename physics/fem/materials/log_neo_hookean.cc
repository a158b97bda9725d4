#include "physics/fem/materials/isotropic.h"
#include "physics/spatial/log.h"

namespace pliant::physics {
namespace {

// Volume ratio below which the volumetric energy continues linearly, so that nearly flat and
// inverted elements have finite energy and recover.
constexpr double kMinLogRatio = 0.05;

Lane CalcLogOf(const Lane& x) {
  double numbers[kLanes], logs[kLanes];
  _mm256_storeu_pd(numbers, x);
  CalcLog(numbers, logs);
  return _mm256_loadu_pd(logs);
}

// Neo-Hookean material with the logarithm, of larionov2023's solids: Ψ = μ/2 (s·s − 3) − μ ln J +
// λ/2 (ln J)², J = s₁ s₂ s₃. Resistance grows steeply as an element becomes flat, until J falls
// below kMinLogRatio.
class LogNeoHookean final : public IsotropicMaterial {
 public:
  std::string_view name() const override { return "LOG_NEO_HOOKEAN"; }
  std::span<const MaterialParameter> parameters() const override { return YoungAndPoisson(); }

 protected:
  void RespondToStretches(const Lane* p, const Lane s[3], PrincipalResponse* r) const override {
    const auto [mu, lambda] = CalcLame(p);
    const Lane J = s[0] * s[1] * s[2];
    const auto is_small = J < kMinLogRatio;
    const Lane at = is_small ? Splat(kMinLogRatio) : J, log = CalcLogOf(at);
    const Lane slope = lambda * log - mu;  // derivative of the volumetric energy by ln J
    const Lane pressure = slope / at;
    const Lane D = is_small ? Splat(0) : (lambda - slope) / (at * at);
    r->energy = 0.5 * mu * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2] - 3) +
                (0.5 * lambda * log - mu) * log + pressure * (J - at);
    DifferentiateNeoHookean(mu, pressure, D, s, r);
  }
};

}  // namespace

const Material* LogNeoHookeanMaterial() {
  static const LogNeoHookean material;
  return &material;
}

}  // namespace pliant::physics
