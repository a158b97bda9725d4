#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "physics/dynamics/block.h"
#include "physics/dynamics/constraint_row.h"
#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/inputs.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"
#include "physics/stepping/contact_problem.h"

namespace pliant::physics {

// Parts of a step whose wall time is kept apart.
enum class Phase { kPose, kSolve, kCheck, kCommit };
inline constexpr std::array<std::string_view, 4> kPhaseNames{"pose", "solve", "check", "commit"};

// What one step did. Everything that is observed but does not affect the future.
struct StepReport {
  bool converged = true;       // the method's tolerance was met
  bool stalled = false;        // stopped at the limit of precision before it
  int iterations = 0;          // Newton iterations, or sweeps
  int linear_iterations = 0;   // of the linear solvers within them, where these are iterative
  double residual = 0;         // relative, in the method's norm, recomputed on the full system
  double complementarity = 0;  // largest violation [m/s]
  double cone_violation = 0;   // largest ‖γ_t‖ − μ γ_n, relative to γ_n
  double joint_drift = 0;  // how far joints in maximal coordinates are apart at the end [m], [rad]
  int refactorisations = 0;
  // Of Newton's method on the free motion of blocks that are not linear: most iterations, largest relative residual.
  int newton_iterations = 0;
  double newton_residual = 0;
  // Elements whose stiffness, or compliance, was not definite and was projected: most in any one iteration, of all bodies.
  int projected_elements = 0;
  int participating = 0;  // degrees of freedom
  int constraints = 0;    // scalar rows
  int asleep = 0;         // blocks that were not computed, or not any more
  std::vector<ContactForce> contacts;
  std::vector<ConstraintForce> constraint_forces;  // of every scalar constraint
  std::vector<double> efforts;                     // what each actuator exerted [N·m], [N], [Pa]
  // External forces on frames, by block, and all velocities at the start of the step: what reactions are computed from.
  std::vector<std::pair<int, BlockForce>> applied;
  std::vector<double> v_start;
  std::vector<double> iteration_residuals;
  std::vector<double> linear_residuals;  // of the last linear system within them, relative
  std::array<double, kPhaseNames.size()> phase_seconds{};  // wall time
  double seconds = 0;

  void Clear();  // as a fresh one, keeping its memory
};

// Advances a world by one step with one method. State' is a function of (Model, State, Inputs, h), bit for bit, for any
// number of threads; the workspace that a stepper keeps changes no result.
class Stepper {
 public:
  virtual ~Stepper() = default;

  // On an error (INTERNAL with the body that failed and why) the state is as it was. A step that did not converge
  // is no error: the report says so.
  virtual absl::Status Step(const Inputs& inputs, double h, State* state, StepReport* report) = 0;

  // Has steps from now on describe the contact problem that they solved; null: none.
  void Describe(ContactProblem* problem) { described_ = problem; }

 protected:
  ContactProblem* described() const { return described_; }

 private:
  ContactProblem* described_ = nullptr;
};

// The stepper of model.method. `model` outlives it.
std::unique_ptr<Stepper> MakeStepper(const Model& model);

}  // namespace pliant::physics
