#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/mpm/cell_matrix.h"
#include "physics/mpm/materials/particle_material.h"
#include "physics/mpm/particle_model.h"
#include "physics/mpm/particle_transfer.h"
#include "solvers/convex/momentum_term.h"

namespace pliant::physics {

// Remainder of the particles' energy beyond its second-order expansion at a point of linearisation,
//
//   φ(v) = Σ V (Ψ(H) − Ψ_l − σ_l : δ − ½ δ : D_l : δ),   H = h ∇v,   δ = H − H_l,
//
// as a function of the velocities of all nodes. Together with the linearised momentum balance it is
// the whole balance, which derives from a convex potential if all materials are convex. Quadratic
// materials add nothing; if any material is not convex, none does. Differences are formed particle
// by particle, since differences of sums over the body would cancel to rounding errors.
class NonlinearPart final : public solvers::MomentumTerm {
 public:
  // `transfer`: the particles of the step on their grid. `places`: indices of the blocks of each
  // cell in the sparse matrix of the nodes.
  NonlinearPart(const ParticleModel* model, const ParticleTransfer* transfer,
                const std::vector<int>* places);

  // True if φ is identically zero.
  bool is_zero() const { return !is_any_; }

  void Start(double h);
  // Sets the linearisation of a particle, after Start. Different particles may be set concurrently.
  void Linearise(int particle, const Eigen::Matrix3d& H, const ParticleResponse& response) {
    if (!points_.empty()) points_[particle] = {H, response};
  }
  // H_l of a particle.
  const Eigen::Matrix3d& gradient(int particle) const { return points_[particle].H; }

  double AddGradient(std::span<const double> v, std::span<double> gradient) const override;
  Along CalcAlong(std::span<const double> v, std::span<const double> d,
                  double alpha) const override;
  void AddHessian(std::span<const double> v, std::span<double> A) const override;

 private:
  struct Point {
    Eigen::Matrix3d H;
    ParticleResponse response;
  };
  struct CellTerms {
    NodeVectors force;
    Along along;
    CellMatrix matrix;
    bool is_any;
  };
  // Visits the particles of a cell that contribute to φ.
  template <typename Visit>
  void ForEachParticle(int cell, const Visit& visit) const;
  // Whether a particle's response to H equals its linearisation.
  bool IsLinear(int particle, const Eigen::Matrix3d& H) const;
  ParticleResponse Respond(int particle, const Eigen::Matrix3d& H, bool with_tangent) const;

  const ParticleModel& model_;
  const ParticleTransfer& transfer_;
  const std::vector<int>& places_;
  std::vector<char> adds_;  // per body: whether it contributes to φ
  bool is_any_ = false, is_nonlinear_ = false;
  double h_ = 0;
  std::vector<Point> points_;  // of each particle; empty if all bodies are quadratic
  mutable std::vector<CellTerms> terms_;
};

}  // namespace pliant::physics
