#pragma once

#include <span>
#include <vector>

#include "physics/stepping/step/detection.h"
#include "physics/stepping/step/islands.h"
#include "physics/stepping/turning.h"
#include "solvers/convex/sap.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// Overlap of rigid bodies is taken away by their positions, at most at the recovery speed. If it
// were taken away by a velocity, the bodies would keep it: a rebound that nobody asked for.

// Bodies that are moved apart turn otherwise than the solution did. They are moved again, in this
// many rounds at most, where more overlap is left than tolerated [m].
constexpr int kMaxRecoveryRounds = 3;
constexpr double kTolerableOverlap = 2e-5;

// Smallest recovery rate [m/s] that is worth a round.
inline double MinRecoveryRate(int round, double h) {
  return round > 0 ? kTolerableOverlap / h : 0;
}

// Limits the velocity with which rigid contacts push overlapping bodies apart: the rest of their
// overlap may remain (ConstraintSystem::Contact::allowed_overlap). The velocity is negligible where
// RecoverPositions takes the overlap away, and the recovery speed elsewhere. Contacts with a
// stiffness are springs, which may push.
void LimitRecovery(std::span<const ContactPoint> contacts, double recovery_speed,
                   solvers::ConstraintSystem* system);

// Velocity [m/s] with which a contact is to take overlap away by position in the step, given its
// gap's rate at the solution, the part of its overlap that bears a load and by how much more it
// closes as its bodies turn (Turning) [m]; 0 where there is nothing to do. Overlap from turning is
// taken away in the step in which it arises, other at the recovery speed.
double CalcRecoveryRate(const solvers::ConstraintSystem::Contact& contact,
                        const ContactPoint& point, double rate, double borne, double turning,
                        double recovery_speed, double h);

struct RecoveryScratch {
  solvers::ConvexProblem problem;
  solvers::SapSolver solver;
  solvers::SapResult result;
  std::vector<double> v_star, linear_term, guess;
  std::vector<double> turning;  // of each contact
};

// Changes `v`, the participating velocities that advance the configuration and initially the solved
// ones, so that less overlap is left at the end of the step. In each island this is the smallest
// change, in the norm of A, with which overlapping contacts open at the recovery speed at most,
// others neither close beyond their gaps nor overlap more, and joints hold: a convex problem
// without friction.
//
// Returns whether v has changed.
// `turning` has been started for the step.
bool RecoverPositions(std::span<const ContactPoint> contacts, const solvers::Impulses& impulses,
                      double recovery_speed, const Islands& islands,
                      solvers::ConstraintSystem* system, Turning* turning, RecoveryScratch* scratch,
                      std::vector<double>* v);

}  // namespace pliant::physics
