#include "solvers/nonsmooth/law_residual.h"

#include <algorithm>
#include <cmath>

#include "solvers/problem/friction_cone.h"

namespace pliant::solvers {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kMinInverseMass = 1e-300;  // [1/kg]; below this, no force moves a row

double CalcContactResidual(const NonsmoothProblem::Contact& law, const Eigen::Matrix3d& W,
                           const Vector3d& u, const Vector3d& force, double h) {
  const double W_t = 0.5 * (W(0, 0) + W(1, 1));
  // nothing that the contact acts on can move
  if (!(W_t > kMinInverseMass)) return 0;
  const double C = law.gap + h * u.z() + law.compliance * force.z();
  const double normal = std::abs(std::min(C, h * h * W(2, 2) * force.z()));
  Vector2d pulled = force.head<2>() - u.head<2>() / (h * W_t);
  ClipFriction(law.friction * std::max(force.z(), 0.0), pulled);
  return std::max(normal, (force.head<2>() - pulled).norm() * h * h * W_t);
}

double CalcRowResidual(const NonsmoothProblem::Row& law, double W, double rate, double force,
                       double h) {
  const double r = h * h * W + law.compliance;
  if (!(r > kMinInverseMass)) return 0;
  const double C = law.gap + h * rate + law.compliance * force;
  return r * std::abs(force - std::clamp(force - C / r, law.lower, law.upper));
}

}  // namespace

double CalcLawResidual(const NonsmoothProblem& problem, const Impulses& impulses,
                       std::span<const double> v) {
  const IslandView& island = problem.island;
  const ConstraintSystem& system = *island.system;
  const double h = problem.h;
  double worst = 0, sum = 0;  // the sum detects NaN, which std::max drops
  const auto note = [&](double error) {
    worst = std::max(worst, error);
    sum += error;
  };
  for (int i = 0; i < island.num_contacts(); ++i) {
    const int c = island.contacts[i];
    note(CalcContactResidual(problem.contacts[i], system.contacts[c].W,
                             CalcContactVelocity(system, c, v), impulses.contacts[c] / h, h));
  }
  for (int i = 0; i < island.num_rows(); ++i) {
    const int k = island.rows[i];
    note(CalcRowResidual(problem.rows[i], system.rows[k].W, CalcRowRate(system, k, v),
                         impulses.rows[k] / h, h));
  }
  return std::isfinite(sum) ? worst : sum;
}

}  // namespace pliant::solvers
