#include "solvers/problem/constraint_system.h"

namespace pliant::solvers {

using Eigen::Vector3d;

Vector3d CalcContactVelocity(const ConstraintSystem& system, int contact,
                             std::span<const double> v) {
  Vector3d velocity = system.contacts[contact].bias;
  for (const ConstraintSystem::Entry& entry : system.entries_of(system.contacts[contact])) {
    system.ForEachRun(entry, [&](int first, int columns, const double* J) {
      for (int j = 0; j < columns; ++j, J += 3)
        velocity += v[first + j] * Vector3d(J[0], J[1], J[2]);
    });
  }
  return velocity;
}

double CalcRowRate(const ConstraintSystem& system, int row, std::span<const double> v) {
  double rate = system.rows[row].bias;
  for (const ConstraintSystem::Entry& entry : system.entries_of(system.rows[row])) {
    const double* J = system.J(entry);
    const int first = system.first_of(entry);
    for (int j = 0; j < entry.columns; ++j) rate += J[j] * v[first + j];
  }
  return rate;
}

void CalcExertedImpulse(const ConstraintSystem& system, const Impulses& impulses,
                        std::vector<double>* exerted) {
  exerted->assign(system.num_velocities, 0.0);
  for (std::size_t c = 0; c < system.contacts.size(); ++c) {
    for (const ConstraintSystem::Entry& entry : system.entries_of(system.contacts[c])) {
      system.ForEachRun(entry, [&](int first, int columns, const double* J) {
        for (int j = 0; j < columns; ++j, J += 3)
          (*exerted)[first + j] += Vector3d(J[0], J[1], J[2]).dot(impulses.contacts[c]);
      });
    }
  }
  for (std::size_t k = 0; k < system.rows.size(); ++k) {
    for (const ConstraintSystem::Entry& entry : system.entries_of(system.rows[k])) {
      const double* J = system.J(entry);
      double* to = exerted->data() + system.first_of(entry);
      for (int j = 0; j < entry.columns; ++j) to[j] += J[j] * impulses.rows[k];
    }
  }
}

}  // namespace pliant::solvers
