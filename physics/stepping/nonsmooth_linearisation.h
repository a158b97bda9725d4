#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/stepping/step/islands.h"
#include "solvers/convex/sap.h"
#include "solvers/corrective/recursive_correction.h"
#include "solvers/nonsmooth/nonsmooth_newton.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// Solves linearisations of the corrective method island by island, with Newton's methods of the
// convex and of the nonsmooth method. Reuses its memory.
//
// A proximal step uses the solver of the convex method. From the given impulses λ₀ it finds
//   λ = the point of the friction cone that is nearest to λ₀ − (u + μ ‖u_t‖₀ e_n) / R
// with the slip speed ‖u_t‖₀ at λ₀, which makes Coulomb's law the complementarity of a convex
// problem (de Saxcé). At λ = λ₀, Coulomb's law holds for any R. If such steps do not converge
// in ‖u_t‖₀, the nonsmooth method's Newton iteration on the friction cones solves for both at once.
class NonsmoothLinearisation final : public solvers::LinearisationSolver {
 public:
  bool Solve(const solvers::FixedLinearisation& given,
             std::vector<Eigen::Vector3d>* impulses) override;
  bool IsSqueezed(const solvers::FixedLinearisation& given) override;

 private:
  // Fills the system. Its velocities are changes due to the impulses, with v* = 0.
  void MakeSystem(const solvers::FixedLinearisation& given);
  void StepProximally(const solvers::FixedLinearisation& given, const solvers::IslandView& island,
                      std::vector<Eigen::Vector3d>* impulses);
  // Fills cone_problem_ and the guesses. Returns the largest velocity that an impulse causes or has
  // to stop [m/s].
  double PoseOnCones(const solvers::FixedLinearisation& given, const solvers::IslandView& island,
                     std::span<const Eigen::Vector3d> impulses);
  // Solves the linearisation with rigid contacts made near-rigid, with R times `stiffer`, and
  // returns the normal impulses as speeds that each would cause alone. False if there are no rigid
  // contacts, or the solver does not converge.
  bool PressNearRigidly(const solvers::FixedLinearisation& given, const solvers::IslandView& island,
                        double stiffer, std::vector<double>* pressed);
  bool SolveOnCones(const solvers::FixedLinearisation& given, const solvers::IslandView& island,
                    std::vector<Eigen::Vector3d>* impulses);

  solvers::ConstraintSystem system_;
  std::vector<int> solved_;  // index in the linearisation of each contact of the system
  int num_contacts_ = 0;     // of solved_; rows follow
  Islands islands_;
  // of a proximal step
  solvers::ConvexProblem convex_problem_;
  std::vector<double> velocity_guess_;
  solvers::SapSolver sap_;
  solvers::SapResult step_;
  // on the cones
  solvers::NonsmoothProblem cone_problem_;
  std::vector<Eigen::Vector3d> contact_guess_, no_impulses_;
  std::vector<double> row_guess_, pressed_, harder_;
  solvers::NonsmoothNewton cone_newton_;
  solvers::NonsmoothResult forces_;
};

}  // namespace pliant::physics
