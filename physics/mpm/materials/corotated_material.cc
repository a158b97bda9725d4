#include "physics/mpm/materials/corotated_material.h"

#include <cmath>

#include <Eigen/LU>

#include "physics/fem/materials/polar_rotation.h"
#include "physics/mpm/materials/elastic_moduli.h"

namespace pliant::physics {
namespace {

using Eigen::Matrix3d;

Matrix3d Symmetric(const Matrix3d& A) {
  return 0.5 * (A + A.transpose());
}

}  // namespace

PolarDecomposition CalcPolarDecomposition(const Matrix3d& F) {
  // the SIMD iteration, with four equal lanes, is ten times faster than a singular value
  // decomposition
  LaneMatrix3 lanes;
  for (int i = 0; i < 9; ++i) lanes[i] = Splat(F.data()[i]);
  const Matrix3d R = Extract(CalcPolarRotations(lanes), 0);
  return {R, Symmetric(R.transpose() * F)};
}

void CorotatedMaterial::Start(const double* /*p*/, ParticleStart* start) const {
  const Matrix3d& F = start->state.F;
  if (!start->is_corrected) {
    const PolarDecomposition polar = CalcPolarDecomposition(F);
    start->R = polar.R;
    start->strain = polar.S - Matrix3d::Identity();
    return;
  }
  // both rotations in one SIMD call
  const Matrix3d predicted = F + start->h * (start->state.C * F);
  LaneMatrix3 lanes;
  for (int i = 0; i < 9; ++i) {
    const double a = F.data()[i], b = predicted.data()[i];
    lanes[i] = Lane{a, b, a, b};
  }
  const LaneMatrix3 R = CalcPolarRotations(lanes);
  start->R = Extract(R, 0);
  const Matrix3d R_predicted = Extract(R, 1);
  start->strain =
      Symmetric(start->R.transpose() * (F - predicted) + R_predicted.transpose() * predicted) -
      Matrix3d::Identity();
}

Matrix3d CorotatedMaterial::CalcStrain(const ParticleStart& start, const Matrix3d& H) {
  const Matrix3d HF = H * start.state.F;
  return start.strain + Symmetric(start.R.transpose() * HF);
}

void CorotatedMaterial::Respond(const double* p, const ParticleStart& start, const Matrix3d& H,
                                ParticleTangent tangent, ParticleResponse* response) const {
  const StrainResponse r = RespondToStrain(p, start, CalcStrain(start, H));
  Complete(r, r.direction, start, tangent != ParticleTangent::kNone, response);
}

void CorotatedMaterial::Complete(const StrainResponse& r, const Matrix3d& flow,
                                 const ParticleStart& start, bool with_tangent,
                                 ParticleResponse* response) {
  const Matrix3d &R = start.R, &F = start.state.F;
  response->energy = r.energy;
  const Matrix3d P = R * r.stress;
  response->stress = P * F.transpose();
  response->is_projected = false;
  if (!with_tangent) return;

  // with δε = sym(Rᵀ δH F), Q = R Fᵀ and G = F Fᵀ: 2 δε:δε = δH_ij δH_kl (δ_ik G_jl + Q_il Q_kj)
  // and tr δε = Q_ij δH_ij
  const Matrix3d Q = R * F.transpose(), G = F * F.transpose();
  Eigen::Matrix<double, 9, 9>& T = response->tangent;
  for (int l = 0; l < 3; ++l) {
    for (int k = 0; k < 3; ++k) {
      for (int j = 0; j < 3; ++j) {
        for (int i = 0; i < 3; ++i)
          T(3 * j + i, 3 * l + k) = r.mu * (Q(i, l) * Q(k, j)) + r.lambda * (Q(i, j) * Q(k, l));
        T(3 * j + k, 3 * l + k) += r.mu * G(j, l);
      }
    }
  }
  if (r.softening == 0) return;
  // direction:δε = N:δH, flow:δε = M:δH
  const Matrix3d along = R * r.direction, N = along * F.transpose();
  const Matrix3d estimated = R * flow, M = estimated * F.transpose();
  const double* n = N.data();
  const double* m = M.data();
  for (int c = 0; c < 9; ++c) {
    for (int i = 0; i < 9; ++i) T(i, c) -= 0.5 * r.softening * (n[i] * m[c] + m[i] * n[c]);
  }
}

void CorotatedMaterial::Advance(const double* /*p*/, const ParticleStart& start, const Matrix3d& H,
                                ParticleState* end) const {
  end->F = start.state.F + H * start.state.F;
  end->J = start.state.J;
  end->plastic_strain = start.state.plastic_strain;
}

double CorotatedMaterial::CalcEnergy(const double* p, const ParticleState& state) const {
  const auto [mu, lambda] = CalcElasticModuli(p);
  const Matrix3d strain = CalcPolarDecomposition(state.F).S - Matrix3d::Identity();
  const double trace = strain.trace();
  return mu * strain.squaredNorm() + 0.5 * lambda * trace * trace;
}

Matrix3d CorotatedMaterial::CalcStress(const double* p, const ParticleState& state) const {
  const auto [mu, lambda] = CalcElasticModuli(p);
  const auto [R, S] = CalcPolarDecomposition(state.F);
  const Matrix3d I = Matrix3d::Identity(), strain = S - I;
  const Matrix3d T = 2 * mu * strain + lambda * strain.trace() * I;
  // P Fᵀ = R T S Rᵀ
  return Symmetric(R * T * S * R.transpose()) / CalcVolumeRatio(state.F.determinant());
}

double CorotatedMaterial::CalcSoundSpeed(const double* p, double density) const {
  const auto [mu, lambda] = CalcElasticModuli(p);
  return std::sqrt((lambda + 2 * mu) / density);
}

}  // namespace pliant::physics
