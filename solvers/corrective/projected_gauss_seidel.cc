#include "solvers/corrective/projected_gauss_seidel.h"

#include <algorithm>
#include <cmath>

namespace pliant::solvers {

using Eigen::Vector3d;

GaussSeidelResult SolveProjectedGaussSeidel(const DelassusOperator& W,
                                            const std::vector<CorrectiveContact>& contacts,
                                            const std::vector<Vector3d>& guess,
                                            const GaussSeidelOptions& options) {
  const double h = options.h;
  GaussSeidelResult result;
  result.impulse = guess;
  std::vector<Vector3d>& lambda = result.impulse;
  // relative velocities under the present impulses, kept up to date as single impulses change
  std::vector<Vector3d> velocity;
  for (const CorrectiveContact& contact : contacts) velocity.push_back(contact.v_free);
  const auto apply = [&](int i, const Vector3d& change) {
    for (const int j : W.neighbours(i)) velocity[j] += W.block(j, i) * change;
  };
  for (int i = 0; i < static_cast<int>(contacts.size()); ++i) {
    if (!lambda[i].isZero(0)) apply(i, lambda[i]);
  }

  while (result.sweeps < options.max_sweeps && !result.converged) {
    double change = 0, largest = 0;
    for (int i = 0; i < static_cast<int>(contacts.size()); ++i) {
      const CorrectiveContact& contact = contacts[i];
      const auto W_ii = W.block(i, i);
      if (!(W_ii(2, 2) > 0)) continue;
      const Vector3d before = lambda[i];

      // normal: h (v_n + R λ_n) closes the gap, or the contact is open
      Vector3d v = velocity[i];
      const double soft = contact.compliance;
      const double delta_n = contact.gap + h * (v.z() + soft * before.z());
      lambda[i].z() = std::clamp(before.z() - delta_n / (h * (W_ii(2, 2) + soft)), contact.lower,
                                 contact.upper);

      // tangent, after the normal impulse has changed
      if (contact.friction > 0) {
        v += W_ii.col(2) * (lambda[i].z() - before.z());
        const double step = 2 / (W_ii(0, 0) + W_ii(1, 1));
        Eigen::Vector2d tangent = before.head<2>() - step * v.head<2>();
        const double length = std::sqrt(tangent.squaredNorm());
        const double limit = contact.friction * lambda[i].z();
        if (length > limit) tangent *= limit / length;
        lambda[i].head<2>() = tangent;
      }

      // an open contact that stays open costs nothing
      if (lambda[i] != before) apply(i, lambda[i] - before);
      change = std::max(change, (lambda[i] - before).cwiseAbs().maxCoeff());
      largest = std::max(largest, lambda[i].cwiseAbs().maxCoeff());
    }
    ++result.sweeps;
    result.residual = largest > 0 ? change / largest : 0;
    result.residuals.push_back(result.residual);
    result.converged = result.residual <= options.tolerance;
  }
  if (contacts.empty()) result.converged = true;
  return result;
}

}  // namespace pliant::solvers
