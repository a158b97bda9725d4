#pragma once

#include <random>
#include <vector>

#include <Eigen/Dense>

#include "physics/mpm/materials/particle_material.h"

namespace pliant::physics {

using Matrix9d = Eigen::Matrix<double, 9, 9>;
using Vector9d = Eigen::Matrix<double, 9, 1>;

inline Vector9d AsVector(const Eigen::Matrix3d& A) {
  return Eigen::Map<const Vector9d>(A.data());
}

inline Eigen::Matrix3d RandomMatrix(double size, std::mt19937* random) {
  std::normal_distribution<double> normal;
  Eigen::Matrix3d A;
  for (int i = 0; i < 9; ++i) A.data()[i] = normal(*random);
  return size / A.norm() * A;
}

inline Eigen::Matrix3d RandomRotation(std::mt19937* random) {
  std::normal_distribution<double> normal;
  return Eigen::Quaterniond(normal(*random), normal(*random), normal(*random), normal(*random))
      .normalized()
      .toRotationMatrix();
}

// Rotated stretches between 1 − `strain` and 1 + `strain`.
inline Eigen::Matrix3d RandomDeformation(double strain, std::mt19937* random) {
  std::uniform_real_distribution<double> stretch(1 - strain, 1 + strain);
  const Eigen::Vector3d s(stretch(*random), stretch(*random), stretch(*random));
  return RandomRotation(random) * s.asDiagonal() * RandomRotation(random).transpose();
}

// A particle of a material with its example parameters.
class Particle {
 public:
  Particle(const ParticleMaterial* material, bool is_corrected) : material_(material) {
    for (const ParticleParameter& parameter : material->parameters())
      p_.push_back(parameter.example);
    start_.is_corrected = is_corrected;
    start_.h = 0.01;
    Start();
  }

  // Starts a step from this state.
  void Start(const ParticleState& state) {
    start_.state = state;
    Start();
  }
  // Starts from a random state of about this strain; of H = h C, too.
  void StartRandomly(double strain, std::mt19937* random) {
    ParticleState state;
    state.F = RandomDeformation(strain, random);
    state.J = std::uniform_real_distribution<double>(1 - strain, 1 + strain)(*random);
    state.C = RandomMatrix(strain, random) / start_.h;
    Start(state);
  }

  ParticleResponse At(const Eigen::Matrix3d& H,
                      ParticleTangent tangent = ParticleTangent::kConvex) const {
    ParticleResponse response;
    material_->Respond(p_.data(), start_, H, tangent, &response);
    return response;
  }
  // Sets the response without a tangent; returns the second derivative of the energy along D.
  double OnLine(const Eigen::Matrix3d& H, const Eigen::Matrix3d& D,
                ParticleResponse* response) const {
    return material_->RespondOnLine(p_.data(), start_, H, D, response);
  }
  DilationResponse AtDilation(double dilation) const {
    return material_->RespondToDilation(p_.data(), start_, dilation);
  }
  ParticleState After(const Eigen::Matrix3d& H) const {
    ParticleState end;
    end.C = H / start_.h;
    material_->Advance(p_.data(), start_, H, &end);
    return end;
  }
  double Energy(const ParticleState& state) const {
    return material_->CalcEnergy(p_.data(), state);
  }
  Eigen::Matrix3d Stress(const ParticleState& state) const {
    return material_->CalcStress(p_.data(), state);
  }
  double SoundSpeed(double density) const { return material_->CalcSoundSpeed(p_.data(), density); }

  const ParticleMaterial& material() const { return *material_; }
  const ParticleStart& start() const { return start_; }
  std::vector<double>& p() { return p_; }

 private:
  void Start() { material_->Start(p_.data(), &start_); }

  const ParticleMaterial* material_;
  std::vector<double> p_;
  ParticleStart start_;
};

}  // namespace pliant::physics
