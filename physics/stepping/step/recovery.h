#pragma once

#include <span>
#include <vector>

#include "physics/stepping/step/detection.h"
#include "physics/stepping/step/participation.h"
#include "physics/stepping/step/reduction.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// Overlap of rigid bodies is taken away by their positions, at most at the recovery speed. If it
// were a velocity, the bodies would keep it: a rebound that nobody asked for.

// Limits the velocity with which rigid contacts push overlapping bodies apart: the rest of their
// overlap may remain (ConstraintSystem::Contact::allowed_overlap). That velocity is negligible for
// rigid bodies, whose overlap RecoverPositions takes away; nodes are pushed at the recovery speed.
// Contacts with a stiffness are springs, which may push.
void LimitPushes(std::span<const ContactPoint> contacts, double recovery_speed,
                 solvers::ConstraintSystem* system);

struct RecoveryScratch {
  // A contact of the bodies to be moved.
  struct Push {
    int contact;
    double wanted;  // smallest velocity along its normal [m/s]
    double impulse = 0;
  };
  std::vector<Push> pushes;
  std::vector<char> is_moved;  // of each participating group
  std::vector<std::size_t> first_responses;
  std::vector<double> responses;  // A_gg⁻¹ J_gᵀ n of each entry of the pushes
};

// Adds to `v`, the participating velocities that advance the configuration, initially the solved
// ones, what takes away the overlap that the solution leaves. Other contacts of the bodies that
// this moves stay as they are, or open.
//
// A few sweeps of projected Gauss–Seidel with the diagonal blocks of A, as no forces are involved.
// `compliances` is the overlap of each contact per impulse where the method regularises contacts
// [m/(N·s)], or empty: what bears a load stays. Returns whether there was anything to do.
bool RecoverPositions(std::span<const ContactPoint> contacts, const solvers::Impulses& impulses,
                      std::span<const double> compliances, double recovery_speed,
                      const Participation& participation, const Reduction& reduction,
                      const solvers::ConstraintSystem& system, RecoveryScratch* scratch,
                      std::vector<double>* v);

}  // namespace pliant::physics
