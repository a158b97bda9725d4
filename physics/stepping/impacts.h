#pragma once

#include <vector>

#include "physics/stepping/report/step_report.h"
#include "physics/stepping/step/stages.h"
#include "solvers/convex/sap.h"

namespace pliant::physics {

// Collisions within one step at contacts with restitution.
//
// A contact whose gap closes within the step, faster than the threshold speed, is a collision at
// that time: the bodies separate with the normal velocity −e u, where u is their approach velocity
// (Newton's law of restitution), and friction acts within its cone. Collisions are solved one after
// another in time, so that a row of balls passes the velocity of the first one on to the last.
// Closed contacts without restitution, and joints, hold meanwhile.
//
// A body in free fall moves with its velocity at the end of each step, which on a parabola is that
// at the middle of the step. Collisions therefore start from the mean of the velocities at the
// start of the step and of the free motion, and a ball returns to e² of its height for any step
// length.
//
// The method then solves the step as if the bodies had started with the velocities after the
// collisions, from the positions that these velocities extrapolate back to.

// Memory of SolveImpacts and ApplyImpacts, kept between steps.
struct ImpactScratch {
  solvers::ConvexProblem problem;
  solvers::SapSolver solver;
  solvers::SapResult result;
  std::vector<double> gaps;  // of all contacts, for bodies that started with v [m]
  std::vector<double> v, start, free, acceleration, before, after, guess;
  std::vector<double> v_star, linear_term;  // of an island, during SolveFrom
};

// Finds the collisions, fills stages->impacts, and shifts the system's gaps. Returns the number of
// islands in which a collision was left out, or exceeded a limit of its solution. Blocks in
// compliance form have none.
int SolveImpacts(StepStages* stages, ImpactScratch* scratch);

// Adds the impulses of collisions to the system's momentum balance, once.
void ApplyImpacts(StepStages* stages, ImpactScratch* scratch);

// Adds the impulses of collisions to the reported forces of contacts and constraints.
void ReportImpacts(const StepStages& stages, StepReport* report);

}  // namespace pliant::physics
