#include <algorithm>
#include <cmath>

#include <Eigen/LU>

#include "physics/mpm/materials/particle_material.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;

constexpr ParticleParameter kLiquidParameters[] = {
    {"bulk_modulus",
     "a positive modulus K in pascals, for the pressure K (J^-gamma - 1). 2e5 makes water hard to "
     "compress",
     1e-6, 1e15, 2e5},
    {"gamma", "an integer from 2 to 20. Water has 7", 2, 20, 7, 7, true},
    {"viscosity", "a viscosity in pascal seconds, at least 0. Water has 1e-3, honey 10", 0, 1e12,
     0.5, 0},
};

struct LiquidLaw {
  explicit LiquidLaw(const double* p)
      : bulk_modulus(p[0]), gamma(static_cast<int>(p[1])), viscosity(p[2]) {}

  // Volume ratio below which the energy is continued quadratically. The pressure there is 78 000 K
  // for γ = 7.
  double min_J() const { return gamma / (gamma + 28.0); }

  double bulk_modulus;  // [Pa]
  int gamma;
  double viscosity;  // [Pa s]
};

// Maximum relative difference between det(I + H) and the linear volume ratio, with which the step
// was solved, that enters the state. A larger one means that the step is too long for either.
constexpr double kMaxCorrection = 0.05;
// Maximum volume ratio: beyond it, a liquid has separated and is not stretched any further.
constexpr double kMaxJ = 1.1;

// Energy per volume at rest as a function of the volume ratio J, and its derivatives [Pa].
struct VolumeResponse {
  double energy, slope, curvature;
};

// Ψ = K ((J^(1−γ) − 1)/(γ − 1) + J − 1), whose −Ψ′ = K (J^−γ − 1) is the pressure. Sums of powers
// in place of differences keep all digits near J = 1.
VolumeResponse RespondWithinLaw(const LiquidLaw& law, double J) {
  const double K = law.bulk_modulus, inverse = 1 / J, growth = J - 1;
  double power = 1, sum = 0, weighted = 0;
  for (int m = 1; m <= law.gamma; ++m) {
    power *= inverse;
    sum += power;
    weighted += (law.gamma - m) * power;
  }
  return {K * growth * growth * weighted / (law.gamma - 1), K * growth * sum,
          K * law.gamma * power * inverse};
}

// RespondWithinLaw, continued quadratically below min_J: finite and convex for any J, so that
// Newton's method may start from an inverted particle.
VolumeResponse RespondToVolume(const LiquidLaw& law, double J) {
  const double min_J = law.min_J();
  if (!(J < min_J)) return RespondWithinLaw(law, J);
  const VolumeResponse r = RespondWithinLaw(law, min_J);
  const double d = J - min_J;
  return {r.energy + d * (r.slope + 0.5 * d * r.curvature), r.slope + d * r.curvature, r.curvature};
}

// dev sym A
Matrix3d SymmetricDeviator(const Matrix3d& A) {
  return 0.5 * (A + A.transpose()) - A.trace() / 3 * Matrix3d::Identity();
}

// A liquid with an equation of state and Newtonian viscosity. J is linear in H,
//
//   J*(H) = J (1 + tr H + det(I + h C) − 1 − h tr C),
//
// so Ψ(J*) + η J / h ‖dev sym H‖² is convex. The terms in C predict the nonlinear part of the
// determinant, and at the end of the step J is multiplied by det(I + H). Without the corrections
// (zong2024), J*(H) = J (1 + tr H) both in the step and at its end.
class Liquid final : public ParticleMaterial {
 public:
  std::string_view name() const override { return "LIQUID"; }
  std::span<const ParticleParameter> parameters() const override { return kLiquidParameters; }
  bool is_liquid() const override { return true; }

  void Start(const double* /*p*/, ParticleStart* start) const override {
    start->J_offset = 0;
    if (!start->is_corrected) return;
    // A particle that has left the others keeps its C, with which a step may turn it by many
    // radians. Such a C predicts nothing, and its determinant would set free more energy than there
    // is: A = h C fades beyond a norm of 1.
    Matrix3d A = start->h * start->state.C;
    A /= std::max(1.0, A.squaredNorm());
    // second and third invariants of A: det(I + A) = 1 + tr A + J_offset
    const auto minor = [&](int i, int j) { return A(i, i) * A(j, j) - A(i, j) * A(j, i); };
    start->J_offset = minor(0, 1) + minor(1, 2) + minor(2, 0) + A.determinant();
  }

  void Respond(const double* p, const ParticleStart& start, const Matrix3d& H,
               ParticleTangent tangent, ParticleResponse* response) const override {
    const LiquidLaw law(p);
    const double J = start.state.J;
    const DilationResponse r = RespondToDilation(p, start, H.trace());
    // the Kirchhoff stress of viscosity is J 2 η dev sym ∇v = 2 drag dev sym H
    const double drag = (law.viscosity + start.viscosity) * J / start.h;
    const Matrix3d shear = SymmetricDeviator(H);
    response->energy = r.energy + drag * shear.squaredNorm();
    response->stress = r.slope * Matrix3d::Identity() + 2 * drag * shear;
    response->is_projected = false;
    if (tangent == ParticleTangent::kNone) return;

    Eigen::Matrix<double, 9, 9>& T = response->tangent;
    T.setZero();
    const double bulk = r.curvature - drag * 2 / 3;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        T(4 * i, 4 * j) += bulk;
        T(3 * j + i, 3 * j + i) += drag;
        T(3 * j + i, 3 * i + j) += drag;
      }
    }
  }

  bool is_quadratic_but_for_dilation() const override { return true; }
  DilationResponse RespondToDilation(const double* p, const ParticleStart& start,
                                     double dilation) const override {
    const double J = start.state.J;
    const VolumeResponse r = RespondToVolume(LiquidLaw(p), TrialVolume(start, dilation));
    return {r.energy, r.slope * J, r.curvature * J * J};
  }

  void Advance(const double* p, const ParticleStart& start, const Matrix3d& H,
               ParticleState* end) const override {
    const double min_J = LiquidLaw(p).min_J();
    // an inverted particle counts as compressed to the limit of the law
    double J = std::max(TrialVolume(start, H.trace()), min_J);
    if (start.is_corrected) {
      const double after = start.state.J * (Matrix3d::Identity() + H).determinant();
      J = std::clamp(after, (1 - kMaxCorrection) * J, (1 + kMaxCorrection) * J);
      J = std::clamp(J, min_J, kMaxJ);
    }
    end->J = J;
    end->F = start.state.F;
    end->plastic_strain = start.state.plastic_strain;
  }

  double CalcEnergy(const double* p, const ParticleState& state) const override {
    return RespondToVolume(LiquidLaw(p), state.J).energy;
  }

  // Pressure, and viscous stress of the velocity gradient C.
  Matrix3d CalcStress(const double* p, const ParticleState& state) const override {
    const LiquidLaw law(p);
    return RespondToVolume(law, state.J).slope * Matrix3d::Identity() +
           2 * law.viscosity * SymmetricDeviator(state.C);
  }

  double CalcSoundSpeed(const double* p, double density) const override {
    const LiquidLaw law(p);
    return std::sqrt(law.gamma * law.bulk_modulus / density);
  }

 private:
  static double TrialVolume(const ParticleStart& start, double dilation) {
    return start.state.J * (1 + dilation + start.J_offset);
  }
};

}  // namespace

const ParticleMaterial* LiquidParticles() {
  static const Liquid material;
  return &material;
}

}  // namespace pliant::physics
