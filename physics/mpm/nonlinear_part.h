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

// What the energy of particles has beyond its second-order expansion at a point of linearisation,
//
//   φ(v) = Σ V (Ψ(H) − Ψ_l − σ_l : δ − ½ δ : D_l : δ),   H = h ∇v,   δ = H − H_l,
//
// as a function of the velocities of all nodes. Together with the linearised momentum balance it is
// the whole balance, which is convex where the materials are. Materials that are quadratic, or not
// convex, add nothing. Computed particle by particle: the terms of the expansion cancel there, and
// not in sums over the body.
class NonlinearPart final : public solvers::MomentumTerm {
 public:
  // `transfer` has the particles of the step on their grid. `places` are the blocks of each cell in
  // the sparse matrix of the nodes.
  NonlinearPart(const ParticleModel* model, const ParticleTransfer* transfer,
                const std::vector<int>* places);

  // Whether it is zero whatever the particles do.
  bool is_zero() const { return !is_any_; }

  // Linearises a particle: concurrently for different ones. Start comes first.
  void Start(double h);
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
  // Visits the particles of a cell that add something.
  template <typename Visit>
  void ForEachParticle(int cell, const Visit& visit) const;
  // Whether a particle's response to H is its linearisation.
  bool IsLinear(int particle, const Eigen::Matrix3d& H) const;
  ParticleResponse Respond(int particle, const Eigen::Matrix3d& H, bool with_tangent) const;

  const ParticleModel& model_;
  const ParticleTransfer& transfer_;
  const std::vector<int>& places_;
  std::vector<char> adds_;  // of each body
  bool is_any_ = false, is_nonlinear_ = false;
  double h_ = 0;
  std::vector<Point> points_;  // of each particle; empty where all bodies are quadratic
  mutable std::vector<CellTerms> terms_;
};

}  // namespace pliant::physics
