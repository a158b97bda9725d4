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

// Where the tangents of blocks that are not linear were taken last.
struct Linearisation {
  std::vector<double> point;         // velocities, by StepBlocks::spaces
  double residual = 0;               // of the solution found with the tangents before
  bool is_residual_current = false;  // whether it is that of the last solution
  std::vector<char> is_due;          // scratch, of each block
};

// What the stages of one step produce, in their order. Every method starts from it; kept from step
// to step for its memory alone.
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
  Linearisation linearisation;

  // Memory to work in.
  DifferentialIkMemory ik;
  std::vector<double> gravity_compensation;
  ResidualScratch residual;
  CommitScratch commit;
};

// From the state to the system that a method solves: blocks posed, contacts found, rows on the
// participants, islands and what to start from. INTERNAL, naming the body, when forces are not
// finite or a tangent is not positive definite.
absl::Status PoseStep(const Inputs& inputs, const Stage& stage, const State& state,
                      StepStages* stages);

// Where the solved velocities v take bodies to where contact was not looked for: finds it, and
// poses the system with it. True when there is more to solve.
absl::StatusOr<bool> RedetectStep(std::span<const double> v, const State& state,
                                  StepStages* stages);

// As CompleteVelocities, CalcResidual and Commit, of a step's stages.
absl::Status CompleteStep(std::span<const double> v_participating, const StepStages& stages,
                          std::vector<double>* v);
double CalcStepResidual(std::span<const double> v, const solvers::Impulses& impulses,
                        StepStages* stages);
// The same with what is exerted on the participating velocities given [N·s], relative to no less
// than `size` (see CalcResidual).
double CalcStepResidual(std::span<const double> v, std::span<const double> exerted, double size,
                        StepStages* stages);
void CommitStep(std::span<const double> v, const solvers::Impulses& impulses, StepStages* stages,
                State* state, StepReport* report);

}  // namespace pliant::physics
