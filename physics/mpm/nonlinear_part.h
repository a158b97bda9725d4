#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/mpm/cell_matrix.h"
#include "physics/mpm/materials/particle_material.h"
#include "physics/mpm/particle_model.h"
#include "physics/mpm/particle_transfer.h"
#include "physics/mpm/plastic_flow.h"
#include "solvers/convex/momentum_term.h"

namespace pliant::physics {

// Remainder of the particles' energy beyond its second-order expansion at a point of linearisation,
//
//   φ(v) = Σ V (Ψ(H) − Ψ_l − σ_l : δ − ½ δ : D_l : δ),   H = h ∇v,   δ = H − H_l,
//
// as a function of the velocities of all nodes. Together with the linearised momentum balance it is
// the whole balance, which derives from a potential: a convex one if all materials are convex, and
// otherwise one of which tangents are projected. Quadratic materials add nothing. Differences are
// formed particle by particle, since differences of sums over the body would cancel to rounding
// errors.
class NonlinearPart final : public solvers::MomentumTerm {
 public:
  // `transfer`: the particles of the step on their grid. `places`: indices of the blocks of each
  // cell in the sparse matrix of the nodes. `flow`: updated along lines.
  NonlinearPart(const ParticleModel* model, const ParticleTransfer* transfer,
                const std::vector<int>* places, PlasticFlow* flow);

  // True if φ is identically zero.
  bool is_zero() const { return !is_any_; }

  void Start(double h);
  // Sets the linearisation of a particle, after Start. Different particles may be set concurrently.
  void Linearise(int particle, const Eigen::Matrix3d& H, const ParticleResponse& response);

  bool is_convex() const override { return is_convex_; }
  double AddGradient(std::span<const double> v, std::span<double> gradient) const override;
  void StartLine(std::span<const double> v, std::span<const double> d) override;
  Along CalcAlong(double alpha) const override;
  void AddHessian(std::span<const double> v, bool is_far, std::span<double> A) const override;

 private:
  // The particles of a body contribute nothing to φ, a function of their dilation tr H, or a
  // function of the whole H.
  enum class Kind { kNone, kDilation, kGradient };
  // Linearisation of a particle of the second kind, and of the third.
  struct Dilated {
    double dilation;
    DilationResponse response;
  };
  struct Deformed {
    Eigen::Matrix3d H;
    ParticleResponse response;
  };
  // Change of the dilation since the linearisation, and H, along a line.
  struct DilationLine {
    double change, along;
  };
  struct GradientLine {
    Eigen::Matrix3d H, along;
  };
  struct CellTerms {
    NodeVectors force;
    Along along;
    CellMatrix matrix;
  };
  // Calls by_dilation(particle) or by_gradient(particle) for the particles of a cell that
  // contribute to φ.
  template <typename ByDilation, typename ByGradient>
  void ForEachParticle(int cell, const ByDilation& by_dilation,
                       const ByGradient& by_gradient) const;
  Kernel MakeKernel(int particle, int cell) const {
    return transfer_.MakeKernel(particle, transfer_.grid().cells()[cell]);
  }
  // Whether a particle's response to H equals its linearisation.
  bool IsLinear(int particle, const Eigen::Matrix3d& H) const;
  ParticleResponse Respond(int particle, const Eigen::Matrix3d& H, ParticleTangent tangent) const;
  // The convex tangent is that along the flow.
  ParticleResponse RespondForNewton(int particle, const Eigen::Matrix3d& H,
                                    ParticleTangent tangent) const;
  // Change of a particle's dilation since its linearisation, with velocities v on its nodes.
  double CalcDilationChange(int particle, const Kernel& kernel, const NodeVectors& v) const;
  // The part of a particle in φ, per volume, after this change.
  DilationResponse RespondBeyond(int particle, double change) const;

  const ParticleModel& model_;
  const ParticleTransfer& transfer_;
  const std::vector<int>& places_;
  PlasticFlow& flow_;
  std::vector<Kind> kinds_;  // of bodies
  bool is_any_ = false, is_convex_ = true;
  double h_ = 0;
  // Each of these has an item for every particle, or is empty if no body is of its kind.
  std::vector<Dilated> dilated_;
  std::vector<Deformed> deformed_;
  std::vector<DilationLine> dilation_lines_;
  std::vector<GradientLine> gradient_lines_;
  mutable std::vector<CellTerms> terms_;
};

}  // namespace pliant::physics
