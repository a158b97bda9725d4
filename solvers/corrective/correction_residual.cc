#include "solvers/corrective/correction_residual.h"

#include <algorithm>
#include <cmath>

namespace pliant::solvers {

using Eigen::Matrix3d;
using Eigen::Vector3d;

void SetReferences(std::span<const double> y, CorrectiveProblem* problem) {
  for (CorrectiveContact& contact : problem->contacts)
    contact.u_reference = CalcRelativeVelocity(*problem, contact, y);
}

LawResidual CalcLawResidual(const CorrectiveProblem& problem, std::span<const Vector3d> impulse,
                            std::span<const Matrix3d> W, std::span<const double> y, double h) {
  ImpulseChange change;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) {
    const CorrectiveContact& contact = problem.contacts[i];
    const Vector3d u = CalcRelativeVelocity(problem, contact, y) - contact.u_reference;
    Vector3d delta = contact.R_WC.transpose() * (contact.slip_W + h * u);
    delta.z() = contact.gap + h * contact.R_WC.col(2).dot(u);
    if (contact.is_in_tangent) {
      const double asked = -delta.z() / (h * contact.compliance);
      change.Add(Vector3d(0, 0, asked), Vector3d(0, 0, impulse[i].z()), contact.compliance, h);
      continue;
    }
    const Vector3d relaxed = RelaxContact(contact, W[i], delta, impulse[i], h);
    change.Add(impulse[i], relaxed, W[i](2, 2), h);
  }
  return {change.CalcRelative(), change.velocity()};
}

void CalcMappedImpulses(const CorrectiveProblem& problem, std::span<const Vector3d> impulse,
                        std::vector<double>* F) {
  F->assign(problem.y_free.size(), 0.0);
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) {
    const CorrectiveContact& contact = problem.contacts[i];
    const Vector3d g = contact.R_WC * impulse[i];
    for (int p = contact.first_part; p < contact.first_part + contact.num_parts; ++p) {
      const MappedPart& part = problem.parts[p];
      const double* J = part.J.data();
      for (int j = 0; j < part.height; ++j, J += 3)
        (*F)[part.row + j] += J[0] * g[0] + J[1] * g[1] + J[2] * g[2];
    }
  }
}

}  // namespace pliant::solvers
