#pragma once

#include <limits>
#include <vector>

#include <Eigen/Core>

#include "solvers/delassus/delassus.h"

namespace pliant::solvers {

// One contact of the corrective motion, in its own frame, normal last; or a scalar constraint, which is a contact
// without tangential directions and with bounds of its own.
struct CorrectiveContact {
  double gap;              // φ0 at the start of the step [m]; −h v̂ of a scalar constraint
  Eigen::Vector3d v_free;  // relative velocity of the free motion [m/s]
  double friction;         // μ ≥ 0
  double
      compliance;  // R: velocity that a unit impulse may cost [s/kg], 1/(h² k) of a spring; 0: rigid
  double lower = 0;  // bounds of the normal impulse [N·s]
  double upper = std::numeric_limits<double>::infinity();
};

struct GaussSeidelOptions {
  double h = 0;  // [s]
  double tolerance =
      1e-6;  // largest change of an impulse in a sweep, relative to the largest impulse
  int max_sweeps = 1000;
};

struct GaussSeidelResult {
  bool converged = false;
  int sweeps = 0;
  double residual = 0;                   // the quantity that `tolerance` bounds
  std::vector<Eigen::Vector3d> impulse;  // [N·s], cone satisfied exactly
  std::vector<double> residuals;
};

// Projected Gauss–Seidel on total impulses with Coulomb's cone (zeng2022 §5.2 in the form of totals):
//   δ = φ0 + h (v_free + (W + R) λ);   λ_n ← clamp(λ_n − δ_n / (h (W_nn + R)));   λ_t ← λ_t − 2 δ_t / (h (W_11 + W_22)),
// clamped to ‖λ_t‖ ≤ μ λ_n. A contact with W_nn = 0 is skipped. `guess` starts it.
GaussSeidelResult SolveProjectedGaussSeidel(const DelassusOperator& W,
                                            const std::vector<CorrectiveContact>& contacts,
                                            const std::vector<Eigen::Vector3d>& guess,
                                            const GaussSeidelOptions& options);

}  // namespace pliant::solvers
