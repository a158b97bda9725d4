#pragma once

#include <vector>

#include <Eigen/Core>

#include "solvers/corrective/recursive_correction.h"
#include "solvers/nonsmooth/nonsmooth_newton.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// Solves linearisations of the corrective method with the non-smooth Newton method, at the cost of
// factors of A with contacts: for sweeps that converge slowly, as under large ratios of mass. Keeps
// its memory.
class NonsmoothLinearisation final : public solvers::LinearisationSolver {
 public:
  bool Solve(const solvers::FixedLinearisation& given,
             std::vector<Eigen::Vector3d>* impulses) override;

 private:
  // Fills the system: velocities are changes by the impulses, with v* = 0.
  void MakeSystem(const solvers::FixedLinearisation& given);

  solvers::ConstraintSystem system_;
  std::vector<int> solved_;  // contacts of the linearisation in the order of the problem
  int num_contacts_ = 0;     // of them; rows follow
  solvers::NonsmoothProblem problem_;
  std::vector<Eigen::Vector3d> contact_guess_;
  std::vector<double> row_guess_;
  solvers::NonsmoothNewton newton_;
  solvers::NonsmoothResult result_;
};

}  // namespace pliant::physics
