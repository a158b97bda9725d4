#include "physics/mpm/materials/corotated_material.h"
#include "physics/mpm/materials/elastic_moduli.h"

namespace pliant::physics {
namespace {

constexpr ParticleParameter kLinearCorotationalParameters[] = {kYoungsModulus, kPoissonsRatio};

// Ψ = μ ε:ε + λ/2 tr(ε)² (zong2024 (19)).
class LinearCorotational final : public CorotatedMaterial {
 public:
  std::string_view name() const override { return "LINEAR_COROTATIONAL"; }
  std::span<const ParticleParameter> parameters() const override {
    return kLinearCorotationalParameters;
  }
  bool is_quadratic(bool /*is_corrected*/) const override { return true; }

 protected:
  StrainResponse RespondToStrain(const double* p, const ParticleStart& /*start*/,
                                 const Eigen::Matrix3d& strain) const override {
    StrainResponse r;
    const auto [mu, lambda] = CalcElasticModuli(p);
    const double trace = strain.trace();
    r.energy = mu * strain.squaredNorm() + 0.5 * lambda * trace * trace;
    r.stress = 2 * mu * strain + lambda * trace * Eigen::Matrix3d::Identity();
    r.mu = mu;
    r.lambda = lambda;
    return r;
  }
};

}  // namespace

const ParticleMaterial* LinearCorotationalParticles() {
  static const LinearCorotational material;
  return &material;
}

}  // namespace pliant::physics
