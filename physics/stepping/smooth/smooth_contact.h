#pragma once

#include <limits>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "physics/contact/kinematics.h"
#include "physics/dynamics/model.h"
#include "solvers/smooth/contact_law.h"
#include "solvers/smooth/friction_dual.h"

namespace pliant::physics {

// Change of a gap that counts as rounding, in units of δ.
inline constexpr double kSmallGap = 1e-9;

// A contact whose force is a function of the positions and velocities of its sides.
struct SmoothContact {
  const ContactPoint* point;
  ContactKinematics kinematics;
  solvers::SmoothContactLaw law;
  bool is_anchored = false;
  Eigen::Vector3d anchor_W = Eigen::Vector3d::Zero();  // at the start of the step, in units of ε h
  // Stretch at the base of the stage, in the same units, and length of the stage in steps.
  Eigen::Vector3d stretch_W = Eigen::Vector3d::Zero();
  double stage_length = 1;

  double weight = 1;  // of its force in the stage

  // For sides that overlap at the start of the step: offset added to the gap in the force law [m],
  // and speed of separation beyond which the normal force vanishes [m/s].
  double lift = 0;
  double max_separation_speed = std::numeric_limits<double>::infinity();

  // Lagged friction (larionov2023 §IV-E): the normal force and frame of an earlier configuration.
  struct Lag {
    bool is_used = false;
    double normal_force = 0;
    Eigen::Vector3d normal_W = Eigen::Vector3d::UnitZ();
  };
  Lag lag{};
};

// Force of a contact at a trial configuration; zero where a barrier's gap is not positive.
struct SmoothContactForce {
  double gap = 0, normal_force = 0;  // the gap includes `lift`
  Eigen::Vector3d normal_W, p_W;     // from A into B; point of application
  // Relative velocity of B in the tangent plane [m/s]; with the contact's stretch, in units of ε.
  Eigen::Vector3d slip_W, relative_slip_W;
  Eigen::Vector3d force_W = Eigen::Vector3d::Zero();  // on B [N]
  double energy = 0;  // stored [J]; none by sides that overlap at the start of the step

  bool acts() const { return normal_force != 0 || !force_W.isZero(0); }
};
SmoothContactForce CalcContactForce(const SmoothContact& contact, const TrialConfiguration& trial);

// Derivatives of the loads on both sides: for a frame its wrench (torque about Bo, force), for
// nodes the force, which their weights distribute. Columns: directions of A, then of B (see
// ContactDerivatives), then the relative velocity of B.
struct SmoothContactTangent {
  using Loads = Eigen::Matrix<double, 6, 15>;
  Loads on[2];
  // Within them, the loads of friction that change with the normal force: their derivatives by the
  // gap, and those of the gap by the directions of A, then of B.
  Eigen::Vector<double, 6> friction_by_gap[2];
  Eigen::Matrix<double, 1, 12> gap;
  ContactDerivatives::Turn turns[2];  // of the sides
  Eigen::Vector3d p_W;
};
// `with_sliding_basis`: include the derivatives of the contact frame. `dual`: the direction of
// friction, or null for its exact derivatives.
SmoothContactTangent DifferentiateContact(const SmoothContact& contact,
                                          const TrialConfiguration& trial, bool with_sliding_basis,
                                          const solvers::FrictionDual* dual);

}  // namespace pliant::physics
