#pragma once

#include <span>
#include <vector>

#include "physics/stepping/rotational_closing.h"
#include "physics/stepping/step/detection.h"
#include "physics/stepping/step/islands.h"
#include "solvers/convex/sap.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// Overlap of rigid bodies is removed from their positions, at most at the recovery speed.
// Velocities that removed it would persist as an unphysical rebound.

// Bodies that are moved apart rotate differently than in the solution. If more overlap is left than
// is tolerable [m], they are moved again, in at most this many rounds.
constexpr int kMaxRecoveryRounds = 3;
constexpr double kTolerableOverlap = 2e-5;

// Smallest recovery rate [m/s] that is worth a round.
inline double MinRecoveryRate(int round, double h) {
  return round > 0 ? kTolerableOverlap / h : 0;
}

// Limits the velocity with which rigid contacts separate overlapping bodies: the rest of their
// overlap may remain (ConstraintSystem::Contact::allowed_overlap). The limit is negligible where
// RecoverPositions removes the overlap, and the recovery speed elsewhere. Contacts with a stiffness
// are springs and not limited.
void LimitRecovery(std::span<const ContactPoint> contacts, double recovery_speed,
                   solvers::ConstraintSystem* system);

// Velocity with which a contact removes overlap by position in the step [m/s]; 0 if there is
// nothing to do. Overlap from rotation is removed in the step in which it arises, other overlap at
// the recovery speed.
//
// rate             of the gap at the solution [m/s]
// borne            overlap due to the contact's load [m]
// further_closing  by which the gap closes further as its bodies rotate, see RotationalClosing [m]
double CalcRecoveryRate(const solvers::ConstraintSystem::Contact& contact,
                        const ContactPoint& point, double rate, double borne,
                        double further_closing, double recovery_speed, double h);

struct RecoveryScratch {
  solvers::ConvexProblem problem;
  solvers::SapSolver solver;
  solvers::SapResult result;
  std::vector<double> v_star, linear_term, guess;
  std::vector<double> further_closing;  // of each contact
};

// Changes `v`, the participating velocities that advance the configuration and initially the solved
// ones, so that less overlap is left at the end of the step. In each island this is the smallest
// change, in the norm of A, with which overlapping contacts open at the recovery speed at most,
// others neither close beyond their gaps nor overlap more, and joints hold: a convex problem
// without friction. Needs closing->Start. Returns whether v has changed.
bool RecoverPositions(std::span<const ContactPoint> contacts, const solvers::Impulses& impulses,
                      double recovery_speed, const Islands& islands,
                      solvers::ConstraintSystem* system, RotationalClosing* closing,
                      RecoveryScratch* scratch, std::vector<double>* v);

}  // namespace pliant::physics
