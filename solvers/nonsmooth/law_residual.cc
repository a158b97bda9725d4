#include "solvers/nonsmooth/law_residual.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "solvers/problem/friction_cone.h"

namespace pliant::solvers {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

constexpr double kMinInverseMass = 1e-300;  // [1/kg]; below this, no force moves a row

double CalcContactResidual(const NonsmoothProblem::Contact& law, const Eigen::Matrix3d& W,
                           const Vector3d& u, const Vector3d& force, double h) {
  const double W_t = 0.5 * (W(0, 0) + W(1, 1));
  // no body at the contact can move
  if (!(W_t > kMinInverseMass)) return 0;
  const double C = law.gap + h * u.z() + law.compliance * force.z();
  const double normal = std::abs(std::min(C, h * h * W(2, 2) * force.z()));
  Vector2d projected = force.head<2>() - u.head<2>() / (h * W_t);
  ClipFriction(law.friction * std::max(force.z(), 0.0), projected);
  return std::max(normal, (force.head<2>() - projected).norm() * h * h * W_t);
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

double CalcSetResidual(const NonsmoothProblem& problem, const Impulses& impulses,
                       std::span<const double> set_forces, std::span<const double> v,
                       SetResidualScratch* scratch) {
  const IslandView& island = problem.island;
  const ConstraintSystem& system = *island.system;
  const double h = problem.h;
  const std::size_t num_sets = problem.sets.size();
  scratch->error.assign(kSetRows * num_sets, 0.0);
  scratch->E.resize(kSetRows * kSetRows * num_sets);
  scratch->J.resize(kSetRows * kSetColumns * num_sets);
  island.Gather(v, &scratch->v);
  if (num_sets > 0 &&
      !problem.set_rows->Evaluate(scratch->v, set_forces, scratch->J, scratch->E, scratch->error))
    return std::numeric_limits<double>::quiet_NaN();

  // impulses of all constraints
  std::vector<double>& momentum = scratch->momentum;
  momentum.assign(island.num_velocities, 0.0);
  AddSetsTransposed(problem.sets, scratch->J, set_forces, momentum);
  for (double& p : momentum) p *= -h;
  const auto subtract = [&](std::span<const IslandView::Entry> entries, const double* impulse,
                            int height) {
    for (const IslandView::Entry& entry : entries) {
      island.ForEachRun(entry, [&](int first, int columns, const double* J) {
        for (int j = 0; j < columns; ++j) {
          for (int r = 0; r < height; ++r) momentum[first + j] -= *J++ * impulse[r];
        }
      });
    }
  };
  for (const int c : island.contacts)
    subtract(system.entries_of(system.contacts[c]), impulses.contacts[c].data(), 3);
  for (const int k : island.rows) subtract(system.entries_of(system.rows[k]), &impulses.rows[k], 1);

  double worst = 0, sum = 0;  // the sum detects NaN, which std::max drops
  const auto note = [&](double error) {
    worst = std::max(worst, std::abs(error));
    sum += error;
  };
  for (const double error : scratch->error) note(error);
  // momenta of the change from the free motion
  for (int b = 0; b < island.num_blocks(); ++b) {
    for (int i = 0; i < island.block(b).size; ++i)
      scratch->v[island.first_of_block(b) + i] -= system.v_star[island.block(b).first + i];
  }
  island.ForEachMass([&](int first, int size, const double* A, bool) {
    for (int i = 0; i < size; ++i) {
      double p = momentum[first + i];
      for (int j = 0; j < size; ++j) p += A[size * j + i] * scratch->v[first + j];
      note(h * p / A[(size + 1) * i]);
    }
  });
  return std::isfinite(sum) ? worst : sum;
}

}  // namespace pliant::solvers
