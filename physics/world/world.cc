#include "physics/world/world.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/spatial/demand.h"
#include "physics/world/script.h"

namespace pliant::physics {
namespace {

bool IsFinite(const Eigen::Vector3d& v) {
  return v.allFinite();
}

absl::Status CheckCommands(const Model& model, const Inputs& commands) {
  const int count = static_cast<int>(model.bodies.size());
  const auto check_body = [&](int body) -> absl::Status {
    if (body >= 0 && body < count) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "a command names body ", body, "; expected 0 to ", count - 1, " (see DescribeWorld)"));
  };

  for (const Inputs::PoseTarget& pose : commands.poses) {
    if (absl::Status status = check_body(pose.body); !status.ok()) return status;
    const Body& body = model.bodies[pose.body];
    if (body.motion != Motion::kKinematic) {
      return absl::InvalidArgumentError(
          absl::StrCat("body \"", body.name, "\" cannot be given a pose; only a body with ",
                       "motion: KINEMATIC can. Push it with a force, or change its motion."));
    }
    if (!IsFinite(pose.X_WB.p) || !pose.X_WB.R.allFinite()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the pose commanded for body \"", body.name, "\" is not finite"));
    }
  }
  for (const Inputs::AppliedForce& force : commands.forces) {
    if (absl::Status status = check_body(force.body); !status.ok()) return status;
    const Body& body = model.bodies[force.body];
    const int nodes = body.block == kWorldBlock ? 0 : model.blocks[body.block]->num_nodes();
    if (force.node < -1 || force.node >= std::max(nodes, 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("body \"", body.name, "\" has no vertex ", force.node, "; it has ", nodes));
    }
    if (!IsFinite(force.force_W) || !IsFinite(force.torque_W) || !IsFinite(force.p_BP)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the force commanded for body \"", body.name, "\" is not finite"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

WorldFault MakeFault(const Model& model, const State& state, const absl::Status& error) {
  WorldFault fault;
  fault.step = state.step + 1;
  fault.time = state.time + model.time_step;
  fault.reason = std::string(error.message());
  // the message names the body that failed in quotes
  for (const Body& body : model.bodies) {
    if (fault.reason.find(absl::StrCat("\"", body.name, "\"")) != std::string::npos) {
      fault.body = body.name;
      break;
    }
  }
  return fault;
}

World::World(std::shared_ptr<const Model> model)
    : model_(std::move(model)), state_(MakeInitialState(*model_)), stepper_(MakeStepper(*model_)) {
  PLIANT_DEMAND(stepper_ != nullptr);
}

World::~World() = default;
World::World(World&&) noexcept = default;

Inputs World::CalcScriptedInputs() const {
  const double h = model_->time_step;
  const double t = state_.time + h;
  Inputs inputs;
  for (const Script& script : model_->script) {
    if (script.kind == Script::Kind::kPose) {
      const RigidTransform X_WB =
          SampleScriptedPose(script, model_->bodies[script.body].X_WB, t, h);
      inputs.poses.push_back({script.body, X_WB});
      continue;
    }
    const std::optional<Eigen::Vector3d> value = SampleScriptedVector(script, t, h);
    if (!value) continue;
    Inputs::AppliedForce force{.body = script.body,
                               .node = script.node,
                               .at_center_of_mass = !script.has_point,
                               .p_BP = script.p_BP};
    (script.kind == Script::Kind::kForce ? force.force_W : force.torque_W) = *value;
    inputs.forces.push_back(force);
  }
  return inputs;
}

absl::Status World::Step(const Inputs& commands) {
  if (absl::Status status = CheckCommands(*model_, commands); !status.ok()) return status;

  // a commanded pose replaces the script's; forces add up
  Inputs inputs = CalcScriptedInputs();
  for (const Inputs::PoseTarget& command : commands.poses) {
    std::erase_if(inputs.poses,
                  [&](const auto& scripted) { return scripted.body == command.body; });
  }
  inputs.poses.insert(inputs.poses.end(), commands.poses.begin(), commands.poses.end());
  inputs.forces.insert(inputs.forces.end(), commands.forces.begin(), commands.forces.end());

  absl::StatusOr<StepReport> report = stepper_->Step(inputs, model_->time_step, &state_);
  if (!report.ok()) return report.status();
  report_ = *std::move(report);
  return absl::OkStatus();
}

void World::Reset() {
  state_ = MakeInitialState(*model_);
  report_ = {};
}

std::string World::Save() const {
  return SerializeState(state_, model_->hash);
}

absl::Status World::Restore(std::string_view bytes) {
  absl::StatusOr<State> state = ParseState(bytes, model_->hash);
  if (!state.ok()) return state.status();
  if (state->q.size() != state_.q.size() || state->v.size() != state_.v.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the state has ", state->q.size(), " positions and ", state->v.size(),
                     " velocities; this model has ", state_.q.size(), " and ", state_.v.size()));
  }
  state_ = *std::move(state);
  report_ = {};
  return absl::OkStatus();
}

std::shared_ptr<const Snapshot> World::TakeSnapshot() const {
  return std::make_shared<const Snapshot>(Snapshot{model_, state_, report_});
}

}  // namespace pliant::physics
