#include <cmath>

#include <Eigen/LU>

#include "physics/fem/materials/material.h"
#include "physics/mpm/materials/elastic_moduli.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;

constexpr ParticleParameter kNeoHookeanParameters[] = {kYoungsModulus, kPoissonsRatio};

// The finite elements' material, Ψ((I + H) F), evaluated with equal SIMD lanes. It is not convex.
class NeoHookean final : public ParticleMaterial {
 public:
  std::string_view name() const override { return "NEO_HOOKEAN"; }
  std::span<const ParticleParameter> parameters() const override { return kNeoHookeanParameters; }
  bool is_convex() const override { return false; }

  void Start(const double* /*p*/, ParticleStart* /*start*/) const override {}

  void Respond(const double* p, const ParticleStart& start, const Matrix3d& H,
               ParticleTangent tangent, ParticleResponse* response) const override {
    const Matrix3d& F = start.state.F;
    const Tangent of_law = tangent == ParticleTangent::kNone     ? Tangent::kNone
                           : tangent == ParticleTangent::kConvex ? Tangent::kConvex
                                                                 : Tangent::kAbsolute;
    const MaterialResponse r = RespondTo(p, F, H, of_law, response);
    if (tangent == ParticleTangent::kNone) return;

    response->is_projected = r.projected & 1;
    // δF = δH F: T_(ij)(kl) = F_ja A_(ia)(kb) F_lb
    const Matrix9d A = Extract(r.tangent, 0);
    Matrix9d AF;
    for (int l = 0; l < 3; ++l) {
      AF.middleCols<3>(3 * l) = A.middleCols<3>(0) * F(l, 0) + A.middleCols<3>(3) * F(l, 1) +
                                A.middleCols<3>(6) * F(l, 2);
    }
    for (int j = 0; j < 3; ++j) {
      response->tangent.middleRows<3>(3 * j) = AF.middleRows<3>(0) * F(j, 0) +
                                               AF.middleRows<3>(3) * F(j, 1) +
                                               AF.middleRows<3>(6) * F(j, 2);
    }
  }

  // The exact tangent needs no principal stretches, and takes less time than one that is projected.
  double RespondOnLine(const double* p, const ParticleStart& start, const Matrix3d& H,
                       const Matrix3d& D, ParticleResponse* response) const override {
    const Matrix3d& F = start.state.F;
    const MaterialResponse r = RespondTo(p, F, H, Tangent::kExact, response);
    const Matrix3d DF = D * F;
    const Eigen::Map<const Eigen::Matrix<double, 9, 1>> along(DF.data());
    return along.dot(Extract(r.tangent, 0) * along);
  }

  void Advance(const double* /*p*/, const ParticleStart& start, const Matrix3d& H,
               ParticleState* end) const override {
    end->F = start.state.F + H * start.state.F;
    end->J = start.state.J;
    end->plastic_strain = start.state.plastic_strain;
  }

  double CalcEnergy(const double* p, const ParticleState& state) const override {
    return RespondTo(p, state.F, Tangent::kNone).energy[0];
  }

  Matrix3d CalcStress(const double* p, const ParticleState& state) const override {
    const Matrix3d P = Extract(RespondTo(p, state.F, Tangent::kNone).stress, 0);
    const Matrix3d tau = P * state.F.transpose();
    return 0.5 * (tau + tau.transpose()) / CalcVolumeRatio(state.F.determinant());
  }

  double CalcSoundSpeed(const double* p, double density) const override {
    const auto [mu, lambda] = CalcElasticModuli(p);
    return std::sqrt((lambda + 2 * mu) / density);
  }

 private:
  using Matrix9d = Eigen::Matrix<double, 9, 9>;

  // Sets energy and stress at (I + H) F; the result is the response of the law there.
  MaterialResponse RespondTo(const double* p, const Matrix3d& F, const Matrix3d& H, Tangent tangent,
                             ParticleResponse* response) const {
    const MaterialResponse r = RespondTo(p, F + H * F, tangent);
    response->energy = r.energy[0];
    response->stress = Extract(r.stress, 0) * F.transpose();
    response->is_projected = false;
    return r;
  }

  MaterialResponse RespondTo(const double* p, const Matrix3d& F, Tangent tangent) const {
    const Lane lane_p[] = {Splat(p[0]), Splat(p[1])};
    LaneMatrix3 lanes;
    for (int i = 0; i < 9; ++i) lanes[i] = Splat(F.data()[i]);
    MaterialResponse response;
    law_.Respond(lane_p, lanes, tangent, &response);
    return response;
  }

  const Material& law_ = *FindMaterial("NEO_HOOKEAN");
};

}  // namespace

const ParticleMaterial* NeoHookeanParticles() {
  static const NeoHookean material;
  return &material;
}

}  // namespace pliant::physics
