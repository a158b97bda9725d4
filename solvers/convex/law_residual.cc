#include "solvers/convex/law_residual.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers/problem/friction_cone.h"

namespace pliant::solvers {
namespace {

using Eigen::Vector3d;

// Rounding error of a contact velocity, relative to the velocities that it sums.
constexpr double kRounding = 64 * std::numeric_limits<double>::epsilon();

Vector3d CalcImpulse(const ConvexProblem::Contact& contact, const ContactLaw* law,
                     const Vector3d& v_c) {
  const Vector3d y = (contact.v_hat - v_c).cwiseQuotient(contact.R);
  if (law == nullptr) return ProjectImpulse(y, contact.R, contact.friction);
  return law
      ->Respond(
          {v_c.head<2>(), y.z(), contact.R.z(), contact.friction, contact.slip, contact.lagged})
      .gamma;
}

}  // namespace

double CalcLawResidual(const ConstraintSystem& system,
                       std::span<const ConvexProblem::Contact> contacts,
                       std::span<const ConvexProblem::Row> rows, const ContactLaw* law,
                       const Impulses& impulses, std::span<const double> v) {
  double speed = 0;
  for (const double v_i : v) speed = std::max(speed, std::abs(v_i));
  double worst = 0, largest = 0;
  // written so that NaN counts as an error
  const auto note = [&](double root, double impulse, double error, double rounding) {
    largest = std::max(largest, root * impulse);
    if (!(error <= rounding)) worst = std::isfinite(error) ? std::max(worst, root * error) : error;
  };
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    const ConvexProblem::Contact& contact = contacts[c];
    const Vector3d& gamma = impulses.contacts[c];
    const Vector3d v_c = CalcContactVelocity(system, static_cast<int>(c), v);
    const double root = std::sqrt(system.contacts[c].W.trace() / 3);
    note(root, std::sqrt(gamma.squaredNorm()),
         std::sqrt((gamma - CalcImpulse(contact, law, v_c)).squaredNorm()),
         kRounding * (speed + contact.v_hat.cwiseAbs().maxCoeff()) / contact.R.minCoeff());
  }
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const ConvexProblem::Row& row = rows[k];
    const double rate = CalcRowRate(system, static_cast<int>(k), v);
    const double gamma = std::clamp((row.v_hat - rate) / row.R, row.lower, row.upper);
    note(std::sqrt(system.rows[k].W), std::abs(impulses.rows[k]),
         std::abs(impulses.rows[k] - gamma), kRounding * (speed + std::abs(row.v_hat)) / row.R);
  }
  if (!(worst > 0)) return worst;
  return largest > 0 ? worst / largest : std::numeric_limits<double>::infinity();
}

}  // namespace pliant::solvers
