#include "physics/stepping/recovery.h"

#include <algorithm>
#include <cmath>

#include "solvers/problem/near_rigid.h"

namespace pliant::physics {
namespace {

using Eigen::Vector3d;
using solvers::ConstraintSystem;
using solvers::ConvexProblem;
using solvers::IslandView;

// Limit on the velocity with which a rigid contact separates bodies whose overlap is removed by
// position [m/s].
constexpr double kNegligibleSpeed = 1e-3;
// Regularisation of contacts and joints, relative to their compliances W.
constexpr double kPositionRegularisation = 1e-5;
constexpr int kMaxPositionIterations = 10;

// Blocks in compliance form have no matrix to solve with.
bool IsRecoverable(const ConstraintSystem& system, int contact) {
  const auto entries = system.entries_of(system.contacts[contact]);
  return std::ranges::none_of(entries, [&](const ConstraintSystem::Entry& entry) {
    return system.blocks[entry.block].is_in_compliance_form();
  });
}

// Row of a joint that holds, or of a limit that closes no further; drives and friction exert
// nothing.
ConvexProblem::Row HoldRow(const ConstraintSystem& system, int k, std::span<const double> v) {
  const ConstraintSystem::Row& row = system.rows[k];
  ConvexProblem::Row held{};
  held.R = kPositionRegularisation * row.W;
  held.v_hat = CalcRowRate(system, k, v);
  const bool holds = std::isinf(row.stiffness) && !row.dry_friction;
  if (!holds || !(held.R > 0)) {
    held.R = 1;
    return held;
  }
  held.lower = row.lower;
  held.upper = row.upper;
  const double closing = -row.error / system.h;
  if (row.lower == 0) held.v_hat = std::min(held.v_hat, closing);
  if (row.upper == 0) held.v_hat = std::max(held.v_hat, closing);
  return held;
}

// Poses the problem of the smallest change of an island's velocities v* with which its contacts
// open by find_rate(c, rate) and its joints hold.
template <typename FindRate>
void PoseRecovery(const solvers::Impulses& impulses, const FindRate& find_rate,
                  const IslandView& island, const ConstraintSystem& system,
                  ConvexProblem* problem) {
  problem->Clear();
  problem->island = island;
  for (const int c : island.contacts) {
    const ConstraintSystem::Contact& contact = system.contacts[c];
    ConvexProblem::Contact& added = problem->contacts.emplace_back();
    const double rate = CalcContactVelocity(system, c, system.v_star).z();
    const double recovery = find_rate(c, rate);
    const double R = kPositionRegularisation * solvers::CalcMeanCompliance(contact.W);
    added.R = Vector3d::Constant(R);
    added.v_hat = Vector3d(0, 0, std::min(rate, -contact.gap / system.h));
    if (recovery > 0) added.v_hat.z() = rate + recovery;
    added.friction = 0;
    // contacts that bear a load stay closed
    if (recovery > 0 || impulses.contacts[c].z() > 0) added.expected = Vector3d(0, 0, 1);
  }
  for (const int k : island.rows) problem->rows.push_back(HoldRow(system, k, system.v_star));
}

}  // namespace

void LimitRecovery(std::span<const ContactPoint> contacts, double recovery_speed,
                   ConstraintSystem* system) {
  for (std::size_t c = 0; c < system->contacts.size(); ++c) {
    ConstraintSystem::Contact& contact = system->contacts[c];
    contact.allowed_overlap = 0;
    if (!(contact.gap < 0) || std::isfinite(contact.stiffness)) continue;
    // overlap at nodes is removed by velocity, since their bodies deform
    const bool by_position =
        contacts[c].is_between_frames() && IsRecoverable(*system, static_cast<int>(c));
    const double speed = by_position ? std::min(recovery_speed, kNegligibleSpeed) : recovery_speed;
    contact.allowed_overlap = std::max(0.0, -contact.gap - system->h * speed);
  }
}

double CalcRecoveryRate(const ConstraintSystem::Contact& contact, const ContactPoint& point,
                        double rate, double borne, double further_closing, double recovery_speed,
                        double h) {
  if (!point.is_between_frames() || std::isfinite(contact.stiffness)) return 0;
  if (!(contact.allowed_overlap > 0 || further_closing > kTolerableOverlap)) return 0;
  const double overlap = -(contact.gap + h * rate) + further_closing;
  // an overlap that the load causes stays
  if (!(overlap > borne + kTolerableOverlap)) return 0;
  return std::max(0.0,
                  std::min(recovery_speed - rate + further_closing / h, (overlap - borne) / h));
}

bool RecoverPositions(std::span<const ContactPoint> contacts, const solvers::Impulses& impulses,
                      double recovery_speed, const Islands& islands, ConstraintSystem* system,
                      RotationalClosing* closing, RecoveryScratch* scratch,
                      std::vector<double>* v) {
  if (!(recovery_speed > 0)) return false;
  const double h = system->h;
  // recovery rate of a contact [m/s]
  const auto find_rate = [&](int c, double rate) {
    return CalcRecoveryRate(system->contacts[c], contacts[c], rate, 0, scratch->further_closing[c],
                            recovery_speed, h);
  };

  bool is_any = false;
  scratch->further_closing.resize(contacts.size());
  for (const IslandView& island : islands.views) {
    const auto is_due = [&](int round) {
      closing->Find(island.contacts, *v, scratch->further_closing);
      return std::ranges::any_of(island.contacts, [&](int c) {
        return IsRecoverable(*system, c) &&
               find_rate(c, CalcContactVelocity(*system, c, *v).z()) > MinRecoveryRate(round, h);
      });
    };
    for (int round = 0; round < kMaxRecoveryRounds && is_due(round); ++round) {
      if (!is_any) {
        scratch->linear_term.assign(v->size(), 0.0);
        system->linear_term.swap(scratch->linear_term);
        is_any = true;
      }
      // the velocities found so far replace the free motion
      scratch->v_star = *v;
      system->v_star.swap(scratch->v_star);
      PoseRecovery(impulses, find_rate, island, *system, &scratch->problem);
      solvers::SapOptions options;
      options.max_iterations = kMaxPositionIterations;
      island.Gather(system->v_star, &scratch->guess);
      scratch->solver.Solve(scratch->problem, scratch->guess, options, &scratch->result);
      island.Scatter(scratch->result.v, *v);
      system->v_star.swap(scratch->v_star);
    }
  }
  if (is_any) system->linear_term.swap(scratch->linear_term);
  return is_any;
}

}  // namespace pliant::physics
