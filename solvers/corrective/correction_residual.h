#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/corrective/recursive_correction.h"

namespace pliant::solvers {

// Sets u_reference of every contact from the mapped velocities y at which the problem is
// linearised.
void SetReferences(std::span<const double> y, CorrectiveProblem* problem);

// Residual of the contact and constraint laws at mapped velocities y: the largest change of an
// impulse when each contact alone is relaxed once, relative to the largest impulse. It is zero
// exactly when gap and impulse are complementary, friction opposes slip within its cone, and spring
// impulses match their elongation.
//
// impulse  in the contacts' present frames [N·s]
// W        an estimate of each contact's compliance, in its frame [1/kg]
struct LawResidual {
  double relative = 0;  // see ImpulseChange
  double velocity = 0;  // of a contact due to the change [m/s]
};
LawResidual CalcLawResidual(const CorrectiveProblem& problem,
                            std::span<const Eigen::Vector3d> impulse,
                            std::span<const Eigen::Matrix3d> W, std::span<const double> y,
                            double h);

// Impulses of contacts and constraints on the mapped degrees of freedom: F = Σ Jᵀ R λ.
void CalcMappedImpulses(const CorrectiveProblem& problem, std::span<const Eigen::Vector3d> impulse,
                        std::vector<double>* F);

}  // namespace pliant::solvers
