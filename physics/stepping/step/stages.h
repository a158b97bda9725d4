#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/stepping/step/commit.h"
#include "physics/stepping/step/detection.h"
#include "physics/stepping/step/islands.h"
#include "physics/stepping/step/participation.h"
#include "physics/stepping/step/pose.h"
#include "physics/stepping/step/reduction.h"
#include "physics/stepping/step/residual.h"
#include "physics/stepping/step/rows.h"
#include "physics/stepping/step/warm_start.h"
#include "solvers/problem/constraint_system.h"

namespace pliant::physics {

// The last linearisation of nonlinear blocks.
struct Linearisation {
  std::vector<double> point;         // velocities, by StepBlocks::spaces
  double residual = 0;               // of the solution found with the previous tangents
  bool is_residual_current = false;  // whether it is of the last solution
  std::vector<char> is_due;          // scratch, of each block
};

// Collisions of a step at contacts with restitution (see impacts.h). They add to the impulses that
// the method finds.
struct StepImpacts {
  // Whether the collisions of the posed system have been found, and whether its momentum balance
  // includes them.
  bool is_found = false, is_applied = false;
  bool is_any = false;
  solvers::Impulses impulses;
  std::vector<double> exerted;  // by them on the participating velocities [N·s]
  // By how much the participants' positions lag behind the solved velocities: Σ t Δv / h for
  // changes Δv at times t of the step [m/s].
  std::vector<double> setback;
};

// Results of the stages of one step, in order; the starting point of every method. Kept from step
// to step for its memory only.
struct StepStages {
  StepStages(const Model& model, Terms terms)
      : blocks(model, terms), contacts(model), reduction(blocks) {}

  StepBlocks blocks;
  StepContacts contacts;
  ConstraintSet constraints;
  GroupRows rows;
  Participation participation;
  Reduction reduction;
  solvers::ConstraintSystem system;
  Islands islands;
  WarmStart warm_start;
  StepImpacts impacts;
  Linearisation linearisation;

  // Scratch.
  DifferentialIkMemory ik;
  std::vector<double> gravity_compensation;
  ResidualScratch residual;
  CommitScratch commit;
};

// Sets up the system to solve: poses blocks, detects contacts, builds rows on the participants,
// finds islands and the warm start. INTERNAL, naming the body, when forces are not finite or a
// tangent is not positive definite.
absl::Status PoseStep(const Inputs& inputs, const Stage& stage, const State& state,
                      StepStages* stages);

// Repeats detection where the solved velocities v take bodies beyond the margins of the last one,
// and poses the system with new contacts. Returns whether there is more to solve.
absl::StatusOr<bool> RedetectStep(std::span<const double> v, const State& state,
                                  StepStages* stages);

// CompleteVelocities, CalcResidual and Commit of a step's stages.
absl::Status CompleteStep(std::span<const double> v_participating, const StepStages& stages,
                          std::vector<double>* v);
double CalcStepResidual(std::span<const double> v, const solvers::Impulses& impulses,
                        StepStages* stages);
// Residual with given impulses on the participating velocities [N·s]; `size` as in CalcResidual.
// Both add the impulses of collisions.
double CalcStepResidual(std::span<const double> v, std::span<const double> exerted, double size,
                        StepStages* stages);
void CommitStep(std::span<const double> v, std::span<const double> v_position,
                const solvers::Impulses& impulses, StepStages* stages, State* state,
                StepReport* report);
// Commit of a step whose blocks have been advanced.
void CommitStep(const solvers::Impulses& impulses, StepStages* stages, State* state,
                StepReport* report);

}  // namespace pliant::physics
