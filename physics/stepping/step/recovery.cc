#include "physics/stepping/step/recovery.h"

#include <algorithm>
#include <cmath>

namespace pliant::physics {
namespace {

using solvers::ConstraintSystem;

// Slower separation is no rebound [m/s], [rad/s].
constexpr double kMinRebound = 1e-3;

// A rigid limit that can only push in the direction of growing g.
bool IsStop(const ConstraintSystem::Row& row) {
  return !row.dry_friction && std::isinf(row.stiffness) && row.lower == 0 && std::isinf(row.upper);
}

}  // namespace

double AllowOverlap(std::span<const double> v, const solvers::Impulses& impulses,
                    ConstraintSystem* system) {
  double fastest = 0;
  for (std::size_t c = 0; c < system->contacts.size(); ++c) {
    ConstraintSystem::Contact& contact = system->contacts[c];
    if (!(contact.gap < 0) || std::isfinite(contact.stiffness) || !(impulses.contacts[c].z() > 0))
      continue;
    const double speed = CalcContactVelocity(*system, static_cast<int>(c), v).z();
    if (speed < kMinRebound) continue;
    contact.allowed_overlap = -contact.gap;
    fastest = std::max(fastest, speed);
  }
  for (std::size_t k = 0; k < system->rows.size(); ++k) {
    ConstraintSystem::Row& row = system->rows[k];
    if (!IsStop(row) || !(row.error < 0) || !(impulses.rows[k] > 0)) continue;
    const double speed = CalcRowRate(*system, static_cast<int>(k), v);
    if (speed < kMinRebound) continue;
    row.error = 0;
    fastest = std::max(fastest, speed);
  }
  return fastest;
}

void LimitRecovery(double share, std::span<const double> v, std::vector<double>* v_position) {
  for (std::size_t i = 0; i < v.size(); ++i)
    (*v_position)[i] = v[i] + share * ((*v_position)[i] - v[i]);
}

}  // namespace pliant::physics
