#pragma once

#include <span>
#include <vector>

#include <Eigen/Core>

#include "solvers/corrective/recursive_correction.h"

namespace pliant::solvers {

// Takes u_reference of every contact to mapped velocities y, where the problem is linearised.
void SetReferences(std::span<const double> y, CorrectiveProblem* problem);

// How far impulses are from the laws of their contacts and constraints at mapped velocities y:
// the largest change that one relaxation of each alone would bring, relative to the largest
// impulse. It vanishes exactly where gap and impulse are complementary, friction opposes slip
// within its cone, and springs exert what their stretch asks for.
//
// impulse  in the contacts' present frames [N·s]
// W        an estimate of each contact's compliance, in its frame [1/kg]
double CalcLawResidual(const CorrectiveProblem& problem, std::span<const Eigen::Vector3d> impulse,
                       std::span<const Eigen::Matrix3d> W, std::span<const double> y, double h);

// What contacts and constraints exert on the mapped degrees of freedom: F = Σ Jᵀ R λ.
void CalcMappedImpulses(const CorrectiveProblem& problem, std::span<const Eigen::Vector3d> impulse,
                        std::vector<double>* F);

}  // namespace pliant::solvers
