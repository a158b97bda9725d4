#include "physics/stepping/step/recovery.h"

#include <algorithm>
#include <cmath>

#include "solvers/linalg/dense.h"

namespace pliant::physics {
namespace {

using solvers::ConstraintSystem;

// With it, rigid contacts push bodies apart [m/s].
constexpr double kNegligibleSpeed = 1e-3;
constexpr int kSweeps = 10;

bool IsRigid(const ContactPoint& contact) {
  return contact.a.nodes.empty() && contact.b.nodes.empty();
}

// The participating group that an entry refers to.
int FindGroupOf(const ConstraintSystem::Entry& entry, const Participation& participation,
                const ConstraintSystem& system) {
  const std::vector<int>& starts = participation.group_velocities;
  return static_cast<int>(
             std::upper_bound(starts.begin(), starts.end(), system.first_of(entry)) -
             starts.begin()) -
         1;
}

}  // namespace

void LimitPushes(std::span<const ContactPoint> contacts, double recovery_speed,
                 ConstraintSystem* system) {
  for (std::size_t c = 0; c < system->contacts.size(); ++c) {
    ConstraintSystem::Contact& contact = system->contacts[c];
    contact.allowed_overlap = 0;
    if (!(contact.gap < 0) || std::isfinite(contact.stiffness)) continue;
    const double speed =
        IsRigid(contacts[c]) ? std::min(recovery_speed, kNegligibleSpeed) : recovery_speed;
    contact.allowed_overlap = std::max(0.0, -contact.gap - system->h * speed);
  }
}

bool RecoverPositions(std::span<const ContactPoint> contacts, const solvers::Impulses& impulses,
                      std::span<const double> compliances, double recovery_speed,
                      const Participation& participation, const Reduction& reduction,
                      const ConstraintSystem& system, RecoveryScratch* scratch,
                      std::vector<double>* v) {
  const double h = system.h;
  const int count = static_cast<int>(system.contacts.size());
  const auto calc_rate = [&](int c) { return CalcContactVelocity(system, c, *v).z(); };
  std::vector<RecoveryScratch::Push>& pushes = scratch->pushes;
  pushes.clear();
  for (int c = 0; c < count; ++c) {
    const ConstraintSystem::Contact& contact = system.contacts[c];
    if (!(contact.allowed_overlap > 0) || !IsRigid(contacts[c])) continue;
    const double borne = compliances.empty() ? 0 : compliances[c] * impulses.contacts[c].z();
    const double overlap = -(contact.gap + h * calc_rate(c)) - borne;
    if (overlap > h * kNegligibleSpeed)
      pushes.push_back({c, std::min(recovery_speed, overlap / h)});
  }
  if (pushes.empty() || !(recovery_speed > 0)) return false;

  // all contacts of the groups that move, and of those that they push
  std::vector<char>& is_moved = scratch->is_moved;
  is_moved.assign(participation.groups.size(), 0);
  std::vector<char> is_pushed(count, 0);
  const auto move = [&](int c) {
    for (const ConstraintSystem::Entry& entry : system.entries_of(system.contacts[c]))
      is_moved[FindGroupOf(entry, participation, system)] = 1;
    is_pushed[c] = 1;
  };
  for (const RecoveryScratch::Push& push : pushes) move(push.contact);
  for (bool more = true; more;) {
    more = false;
    for (int c = 0; c < count; ++c) {
      if (is_pushed[c]) continue;
      const std::span<const ConstraintSystem::Entry> entries =
          system.entries_of(system.contacts[c]);
      if (std::none_of(entries.begin(), entries.end(), [&](const auto& entry) {
            return is_moved[FindGroupOf(entry, participation, system)] != 0;
          }))
        continue;
      pushes.push_back({c, -std::max(0.0, system.contacts[c].gap / h + calc_rate(c))});
      move(c);
      more = true;
    }
  }

  scratch->first_responses.clear();
  scratch->responses.clear();
  for (const RecoveryScratch::Push& push : pushes) {
    for (const ConstraintSystem::Entry& entry : system.entries_of(system.contacts[push.contact])) {
      scratch->first_responses.push_back(scratch->responses.size());
      const double* J = system.J(entry);
      for (int j = 0; j < entry.columns; ++j) scratch->responses.push_back(J[3 * j + 2]);
      double* y = &scratch->responses[scratch->first_responses.back()];
      const double* L = reduction.group_factors[FindGroupOf(entry, participation, system)];
      solvers::SolveLower(entry.columns, L, entry.columns, y);
      solvers::SolveLowerTransposed(entry.columns, L, entry.columns, y);
    }
  }
  std::vector<double> moved(v->size(), 0.0);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    std::size_t next = 0;
    for (RecoveryScratch::Push& push : pushes) {
      const ConstraintSystem::Contact& contact = system.contacts[push.contact];
      const std::span<const ConstraintSystem::Entry> entries = system.entries_of(contact);
      double rate = 0;
      for (const ConstraintSystem::Entry& entry : entries) {
        const double* J = system.J(entry);
        const double* x = &moved[system.first_of(entry)];
        for (int j = 0; j < entry.columns; ++j) rate += J[3 * j + 2] * x[j];
      }
      const double before = push.impulse;
      if (contact.W(2, 2) > 0)
        push.impulse = std::max(0.0, before + (push.wanted - rate) / contact.W(2, 2));
      const double change = push.impulse - before;
      for (const ConstraintSystem::Entry& entry : entries) {
        const double* y = &scratch->responses[scratch->first_responses[next++]];
        double* x = &moved[system.first_of(entry)];
        for (int j = 0; change != 0 && j < entry.columns; ++j) x[j] += change * y[j];
      }
    }
  }
  for (std::size_t i = 0; i < v->size(); ++i) (*v)[i] += moved[i];
  return true;
}

}  // namespace pliant::physics
