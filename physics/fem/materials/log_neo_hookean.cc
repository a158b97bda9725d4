#include "physics/fem/materials/compressible_neo_hookean.h"
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

// Neo-Hookean material with the logarithm, of larionov2023's solids: Ψ = μ/2 (F·F − 3) − μ ln J +
// λ/2 (ln J)². Resistance grows steeply as an element becomes flat, until J falls below
// kMinLogRatio.
class LogNeoHookean final : public CompressibleNeoHookean {
 public:
  std::string_view name() const override { return "LOG_NEO_HOOKEAN"; }
  std::span<const MaterialParameter> parameters() const override { return YoungAndPoisson(); }

 protected:
  Lane CalcShearModulus(const Lane* p) const override { return CalcLame(p).mu; }
  VolumeResponse RespondToVolume(const Lane* p, const Lane& J) const override {
    const auto [mu, lambda] = CalcLame(p);
    const auto is_small = J < kMinLogRatio;
    const Lane at = is_small ? Splat(kMinLogRatio) : J, log = CalcLogOf(at);
    const Lane slope = lambda * log - mu;  // derivative of the volumetric energy by ln J
    const Lane pressure = slope / at;
    return {(0.5 * lambda * log - mu) * log + pressure * (J - at), pressure,
            is_small ? Splat(0) : (lambda - slope) / (at * at)};
  }
};

}  // namespace

const Material* LogNeoHookeanMaterial() {
  static const LogNeoHookean material;
  return &material;
}

}  // namespace pliant::physics
