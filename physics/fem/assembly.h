#pragma once

#include <functional>
#include <span>
#include <vector>

#include "physics/fem/fem_model.h"

namespace pliant::physics {

// Contributions of a body's elements to A and m(v0) of a step (han2023 (8), (11)). Each function
// adds to its outputs. `pressure`: activation stress of every batch; empty: none.

// Mass, stiffness and damping of the elements that are quadratic in F:
//   A += (1 + α w h r) M + w h (h m + β r) K,   residual −= w h [f(q0) − (h m' + β r') K v0]
// with w the stage's weight, m and r the trial's part of force_move and force_rate, m' and r' the
// sums of both parts. Rotations R0 are those at positions `q_turn`: q0, or the end of the step.
void AssembleQuadratic(const FemModel& model, const Stage& stage, std::span<const double> q0,
                       std::span<const double> v0, std::span<const double> q_turn,
                       std::span<const Lane> pressure, solvers::BlockMatrix* A,
                       std::vector<double>* residual);

// Energy that a body of quadratic elements gains in a step to v because elements rotate far from
// the R0 of their forces, relative to the energy that it exchanges. Energy from contacts is no
// gain, nor is the work of gravity and inputs, which `calc_work` returns [J].
double CalcRelativeGain(const FemModel& model, const Stage& stage, std::span<const double> q0,
                        std::span<const double> v0, std::span<const double> q_turn,
                        std::span<const double> v, const std::function<double()>& calc_work);

// Mass and damping of the nonlinear elements, with the tangent at q0 for the whole step:
//   A += (1 + αθh) M + θhβ K0,   m += hβ K0 v0
// `at` is scratch memory.
void AssembleDamping(const FemModel& model, const Stage& stage, std::span<const double> q0,
                     std::span<const double> v0, FemModel::Deformation* at, solvers::BlockMatrix* A,
                     std::vector<double>* residual);

// Internal forces and stiffness of the nonlinear elements at positions q: m −= h f(q), A += scale ·
// K(q). Returns their elastic energy minus the work of pressure [J]. A is unused for
// Tangent::kNone. `at`: scratch memory; holds the elements' deformation on return.
double AssembleNonlinear(const FemModel& model, std::span<const double> q,
                         std::span<const Lane> pressure, double h, double scale, Tangent tangent,
                         FemModel::Deformation* at, solvers::BlockMatrix* A,
                         std::vector<double>* residual);

// As AssembleNonlinear for the quadratic elements, with their rotations at positions q: forces and
// tangent are exact derivatives of their energy.
double AssembleExactCorotational(const FemModel& model, std::span<const double> q,
                                 std::span<const Lane> pressure, double h, double scale,
                                 Tangent tangent, solvers::BlockMatrix* A,
                                 std::vector<double>* residual);

// Damping by the rate of Green's strain, E' = sym(Fᵀ F'): the stress F (2μ E' + λ tr(E') I) with a
// viscosity (μ, λ) of each batch [Pa·s]. It dissipates energy at any deformation, and does not
// resist rotation.
class StrainRateDamping {
 public:
  // Viscosities are β times the Lamé parameters of the materials at rest. Volume rates of patches
  // with mean dilatation are not damped.
  explicit StrainRateDamping(const FemModel& model);
  bool is_zero() const { return viscosities_.empty(); }

  // Subtracts the forces from the residual.
  void AddForces(const FemModel& model, std::span<const double> q, std::span<const double> v,
                 std::vector<double>* residual) const;

  // Adds the derivative of minus the forces along v = c a, q = `move` a, which is not symmetric:
  // the blocks in the lower triangle to `lower`, the transposes of those above it to `upper`.
  void Differentiate(const FemModel& model, std::span<const double> q, std::span<const double> v,
                     double c, double move, solvers::BlockMatrix* lower,
                     solvers::BlockMatrix* upper) const;

 private:
  std::vector<Lame> viscosities_;  // of each batch
};

}  // namespace pliant::physics
