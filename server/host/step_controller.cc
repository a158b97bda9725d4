#include "server/host/step_controller.h"

#include "pliant/v1/control.pb.h"
#include "pliant/v1/world.pb.h"

namespace pliant::server {
namespace {

absl::Status TakesNone() {
  return absl::InvalidArgumentError("target: this world accepts no commands");
}

}  // namespace

absl::StatusOr<v1::Lease> StepController::Acquire(const v1::AcquireLeaseRequest& /*request*/,
                                                  SteadyTime /*now*/) {
  return TakesNone();
}

absl::Status StepController::Release(const std::string& /*lease_id*/, SteadyTime /*now*/) {
  return TakesNone();
}

bool StepController::IsValid(const std::string& /*lease_id*/, SteadyTime /*now*/) {
  return false;
}

absl::StatusOr<std::string> StepController::Submit(const v1::CommandRequest& /*command*/,
                                                   SteadyTime /*now*/) {
  return TakesNone();
}

absl::StatusOr<StepInputs> StepController::Hold(const std::vector<v1::TargetCommand>& commands,
                                                SteadyTime /*now*/) {
  if (!commands.empty()) return TakesNone();
  return [this](const physics::State& state, SteadyTime now) { return Advance(state, now); };
}

absl::StatusOr<ActuatorList> StepController::FindActuators(
    const v1::BatchTarget& /*joints*/) const {
  return TakesNone();
}

absl::Status StepController::CheckTargets(const std::vector<ActuatorList>& lists,
                                          SteadyTime /*now*/) {
  return lists.empty() ? absl::OkStatus() : TakesNone();
}

physics::Inputs StepController::AdvanceTargets(const std::vector<ActuatorList>& /*lists*/,
                                               std::span<const double> /*values*/,
                                               const physics::State& state, SteadyTime now) {
  return Advance(state, now);
}

}  // namespace pliant::server
