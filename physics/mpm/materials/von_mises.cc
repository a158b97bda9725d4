#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/LU>

#include "physics/mpm/materials/corotated_material.h"
#include "physics/mpm/materials/elastic_moduli.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;

constexpr ParticleParameter kVonMisesParameters[] = {
    kYoungsModulus,
    kPoissonsRatio,
    {"yield_stress", "a positive stress in pascals. Dough yields at about 1e3", 1e-6, 1e15, 1e3},
};

const double kSqrtTwoThirds = std::sqrt(2.0 / 3);

Matrix3d Deviator(const Matrix3d& A) {
  return A - A.trace() / 3 * Matrix3d::Identity();
}

// Norm of the deviatoric strain at which the uniaxial stress is σ_Y: ρ = √(2/3) σ_Y / 2μ.
double CalcYieldStrain(const double* p) {
  return kSqrtTwoThirds * p[2] / (2 * CalcElasticModuli(p).mu);
}

// m > 0 with det(m I + ρ N) = `det` > 0, N a deviator of norm 1, so that m I + ρ N is positive
// definite. `mean` is m̄ of a positive definite matrix m̄ I + s N, s ≥ ρ, with this determinant.
double SolveMeanStretch(double rho, double det_N, double det, double mean) {
  // the determinant, m³ − ρ²/2 m + ρ³ det N, is convex and increases from its largest root on, and
  // at `mean` it exceeds `det`, for it decreases with s: Newton's method descends to the solution
  constexpr int kMaxIterations = 60;
  const double rest = rho * rho * rho * det_N - det;
  double m = mean;
  for (int k = 0; k < kMaxIterations; ++k) {
    const double excess = m * (m * m - 0.5 * rho * rho) + rest;
    if (!(excess > 0)) break;
    const double next = m - excess / (3 * m * m - 0.5 * rho * rho);
    if (!(next < m)) break;
    m = next;
  }
  return m;
}

// Perfect plasticity: the deviatoric strain s = ‖dev ε‖ is bounded by ρ. The energy of the step is
// minimised over the plastic flow,
//
//   Ψ = min over flow of μ (s − flow)² + 2 μ ρ flow  =  μ s² up to ρ, μ (2 ρ s − ρ²) beyond,
//
// a Moreau envelope and therefore convex and C¹, plus κ/2 tr(ε)². Without the corrections
// (zong2024, Algorithm 1), the energy is μ s² for any s, and plasticity acts only after the step.
class VonMises final : public CorotatedMaterial {
 public:
  std::string_view name() const override { return "VON_MISES"; }
  std::span<const ParticleParameter> parameters() const override { return kVonMisesParameters; }
  bool is_quadratic(bool is_corrected) const override { return !is_corrected; }

  // The set of elastic strains is convex, so the end points decide.
  bool IsQuadraticBetween(const double* p, const ParticleStart& start, const Matrix3d& H0,
                          const Matrix3d& H1) const override {
    const double rho = CalcYieldStrain(p);
    const auto is_elastic = [&](const Matrix3d& H) {
      return Deviator(CalcStrain(start, H)).squaredNorm() <= rho * rho;
    };
    return is_elastic(H1) && is_elastic(H0);
  }

  bool yields() const override { return true; }
  void RespondAlongFlow(const double* p, const ParticleStart& start, const Matrix3d& H,
                        const Matrix3d& flow, ParticleResponse* response) const override {
    Complete(RespondToStrain(p, start, CalcStrain(start, H)), flow, start, true, response);
  }
  // From max(s, ρ) N = dev ε: N + δN = (dev ε + δε)/s − N (dev ε:δε)/s² beyond ρ.
  void AdvanceFlow(const double* p, const ParticleStart& start, const Matrix3d& H,
                   const Matrix3d& change, Matrix3d* flow) const override {
    const double rho = CalcYieldStrain(p);
    const Matrix3d before = Deviator(CalcStrain(start, H)),
                   after = Deviator(CalcStrain(start, H + change));
    const double squared = before.squaredNorm();
    Matrix3d next = after / rho;
    if (squared > rho * rho) {
      const double growth = before.cwiseProduct(after - before).sum() / squared;
      next = after / std::sqrt(squared) - growth * *flow;
    }
    const double size = std::sqrt(next.squaredNorm());
    *flow = size > 1 ? Matrix3d(next / size) : next;
  }

  void Advance(const double* p, const ParticleStart& start, const Matrix3d& H,
               ParticleState* end) const override {
    CorotatedMaterial::Advance(p, start, H, end);
    const double rho = CalcYieldStrain(p);
    const double excess = start.is_corrected ? Return(CalcElasticModuli(p), rho, &end->F)
                                             : ReturnKeepingTrace(rho, start.R, &end->F);
    end->plastic_strain += kSqrtTwoThirds * excess;
  }

 protected:
  StrainResponse RespondToStrain(const double* p, const ParticleStart& start,
                                 const Matrix3d& strain) const override {
    StrainResponse r;
    const ElasticModuli moduli = CalcElasticModuli(p);
    const double mu = moduli.mu, kappa = moduli.bulk(), rho = CalcYieldStrain(p);
    const double trace = strain.trace();
    const Matrix3d deviator = Deviator(strain);
    const double squared = deviator.squaredNorm(), s = std::sqrt(squared);
    const bool yields = start.is_corrected && squared > rho * rho;
    r.energy = (yields ? mu * rho * (2 * s - rho) : mu * s * s) + 0.5 * kappa * trace * trace;
    r.mu = yields ? mu * (rho / s) : mu;  // secant modulus
    r.lambda = kappa - r.mu * 2 / 3;
    r.stress = 2 * r.mu * deviator + kappa * trace * Matrix3d::Identity();
    if (yields) {
      // no stiffness along the flow
      r.softening = 2 * r.mu;
      r.direction = deviator / s;
    }
    return r;
  }

 private:
  // Return mapping: moves F = R S to the yield surface ‖dev S‖ = ρ and returns its distance from
  // it. The flow preserves R and the principal directions of S. It also preserves det F, unless
  // this would store more energy as compression than the deviator releases. Under a pressure of
  // more than 2 μ it would, since shear then lowers the trace of ε at a given volume by so much
  // that the particle gains more than it spends, in every step.
  static double Return(const ElasticModuli& moduli, double rho, Matrix3d* F) {
    const auto [R, S] = CalcPolarDecomposition(*F);
    const Matrix3d deviator = Deviator(S);
    const double s = std::sqrt(deviator.squaredNorm());
    if (!(s > rho)) return 0;
    const Matrix3d N = deviator / s;
    // an inverted F has no positive volume to preserve; preserving its mean stretch reverts the
    // inversion
    const double det = S.determinant();
    double mean = S.trace() / 3;
    if (det > 0) {
      // the energy is μ s² + 9/2 κ (m − 1)²
      const double released = 2 * moduli.mu * (s - rho) * (s + rho) / (9 * moduli.bulk());
      const double least = 1 - std::sqrt((mean - 1) * (mean - 1) + released);
      mean = std::max(SolveMeanStretch(rho, N.determinant(), det, mean), least);
    }
    *F = R * (mean * Matrix3d::Identity() + rho * N);
    return s - rho;
  }

  // Return mapping of zong2024 (26): scales the deviator of S = sym(F R0ᵀ) to ρ and changes F
  // accordingly.
  static double ReturnKeepingTrace(double rho, const Matrix3d& R0, Matrix3d* F) {
    const Matrix3d FR = *F * R0.transpose();
    const Matrix3d deviator = Deviator(0.5 * (FR + FR.transpose()));
    const double s = std::sqrt(deviator.squaredNorm());
    if (!(s > rho)) return 0;
    *F += (rho / s - 1) * (deviator * R0);
    return s - rho;
  }
};

}  // namespace

const ParticleMaterial* VonMisesParticles() {
  static const VonMises material;
  return &material;
}

}  // namespace pliant::physics
