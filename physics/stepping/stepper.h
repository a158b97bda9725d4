#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "physics/dynamics/contact_point.h"
#include "physics/dynamics/inputs.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"

namespace pliant::physics {

// What one step did. Everything that is observed but does not affect the future.
struct StepReport {
  bool converged = true;       // the method's tolerance was met
  bool stalled = false;        // stopped at the limit of precision before it
  int iterations = 0;          // Newton iterations, or sweeps
  double residual = 0;         // relative, in the method's norm, recomputed on the full system
  double complementarity = 0;  // largest violation [m/s]
  double cone_violation = 0;   // largest ‖γ_t‖ − μ γ_n, relative to γ_n
  int refactorisations = 0;
  int participating = 0;  // degrees of freedom
  int constraints = 0;    // scalar rows
  std::vector<ContactForce> contacts;
  std::vector<double> iteration_residuals;
  std::map<std::string, double> phase_seconds;  // wall time by phase
  double seconds = 0;
};

// Advances a world by one step with one method. State' is a function of (Model, State, Inputs, h), bit for bit, for any
// number of threads; the workspace that a stepper keeps changes no result.
class Stepper {
 public:
  virtual ~Stepper() = default;

  // On an error (INTERNAL with the body that failed and why) the state is as it was. A step that did not converge
  // is no error: the report says so.
  virtual absl::StatusOr<StepReport> Step(const Inputs& inputs, double h, State* state) = 0;
};

// The stepper of model.method. `model` outlives it.
std::unique_ptr<Stepper> MakeStepper(const Model& model);

}  // namespace pliant::physics
