#pragma once

#include <memory>

#include "absl/status/status.h"

#include "physics/dynamics/faults/fault.h"
#include "physics/dynamics/inputs.h"
#include "physics/dynamics/model.h"
#include "physics/dynamics/state.h"
#include "physics/stepping/contact_problem.h"
#include "physics/stepping/report/step_report.h"

namespace pliant::physics {

// Advances a world by one step with one method. The new state is a function of (Model, State,
// Inputs, h), bit for bit, for any number of threads; the workspace that a stepper keeps changes no
// result.
class Stepper {
 public:
  virtual ~Stepper() = default;

  // On an error (INTERNAL, with the cause and the place, see PlaceOf) the state is unchanged.
  // Failure to converge is not an error; the report records it.
  virtual absl::Status Step(const Inputs& inputs, double h, State* state, StepReport* report) = 0;

  // Makes subsequent steps export the contact problem that they solved; null: none.
  void Describe(ContactProblem* problem) { described_ = problem; }
  // Makes subsequent steps report the work done on the bodies (EnergyBalance::work).
  void ReportWork(bool reports) { reports_work_ = reports; }

 protected:
  ContactProblem* described() const { return described_; }
  bool reports_work() const { return reports_work_; }

 private:
  ContactProblem* described_ = nullptr;
  bool reports_work_ = false;
};

// The stepper of model.method. `model` outlives it.
std::unique_ptr<Stepper> MakeStepper(const Model& model);

}  // namespace pliant::physics
