#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "physics/dynamics/model.h"
#include "physics/stepping/stepper.h"

namespace pliant::physics {

// Immutable observation of one state, shared by pointer with every reader.
struct Snapshot {
  std::shared_ptr<const Model> model;
  State state;
  StepReport report;  // of the step that led here; empty at the start
};

// The fault that stopped a world: the step that failed or did not converge.
struct WorldFault {
  std::int64_t step = 0;
  double time = 0;
  std::string reason;
  std::string body;  // name of place.body; empty: unknown
  FaultPlace place;
};

// The fault for `error`, which Step returned at `state`.
WorldFault MakeFault(const Model& model, const State& state, const absl::Status& error);

// A model, its state and the method that advances it. Not thread-safe.
class World {
 public:
  explicit World(std::shared_ptr<const Model> model);
  ~World();
  World(World&&) noexcept;

  const Model& model() const { return *model_; }
  std::shared_ptr<const Model> shared_model() const { return model_; }
  const State& state() const { return state_; }
  const StepReport& report() const { return report_; }

  // Advances by model().time_step with the scripted inputs and `commands`. A commanded pose
  // overrides the script's for the same body; forces and springs add up. On an error the state is
  // unchanged: INVALID_ARGUMENT when a command names something that does not exist or a body that
  // is not KINEMATIC, or is not finite; INTERNAL when the step failed. Failure to converge is not
  // an error; report() records it.
  absl::Status Step(const Inputs& commands = {});

  // Makes subsequent steps export the contact problem that they solved; null: none.
  void Describe(ContactProblem* problem);

  // Makes subsequent steps report their balance of energy (StepReport::energy), which costs an
  // evaluation of all energies per step.
  void WatchEnergy(bool watches);

  // Scripted inputs for the step that starts at `state` (sampled at its end).
  Inputs CalcScriptedInputs() const;

  void Reset();
  std::string Save() const;  // bytes of the state
  absl::Status Restore(
      std::string_view bytes);  // INVALID_ARGUMENT when of another model or damaged
  std::shared_ptr<const Snapshot> TakeSnapshot() const;

 private:
  void AddScriptedInputs(Inputs* inputs) const;
  double CalcTotalEnergy() const;
  // Made when it is needed first: that takes a while for large bodies, whose first picture does not
  // wait for it.
  Stepper& stepper();

  std::shared_ptr<const Model> model_;
  State state_;
  Inputs inputs_;  // of the last step; memory is reused
  StepReport report_, next_report_;
  std::unique_ptr<Stepper> stepper_;
  bool watches_energy_ = false;
  std::optional<double> energy_;  // of state_ [J]; none: not computed
};

}  // namespace pliant::physics
