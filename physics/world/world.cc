#include "physics/world/world.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "physics/spatial/demand.h"
#include "physics/world/probes.h"
#include "physics/world/script.h"

namespace pliant::physics {
namespace {

bool IsFinite(const Eigen::Vector3d& v) {
  return v.allFinite();
}

absl::Status CheckJointCommands(const Model& model, const Inputs& commands) {
  const auto check = [](int index, std::size_t count, const char* what) -> absl::Status {
    if (index >= 0 && index < static_cast<int>(count)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "a command names ", what, " ", index, "; the world has ", count, " (see DescribeWorld)"));
  };
  const auto check_controller = [&](int index, Controller::Kind kind) -> absl::Status {
    absl::Status status = check(index, model.controllers.size(), "controller");
    if (!status.ok() || model.controllers[index].kind == kind) return status;
    return absl::InvalidArgumentError(
        absl::StrCat("controller \"", model.controllers[index].name, "\" is no ",
                     kind == Controller::Kind::kGripper ? "gripper" : "differential IK"));
  };
  const auto check_finite = [](bool is_finite, const std::string& name) -> absl::Status {
    if (is_finite) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("what is commanded for \"", name, "\" is not finite"));
  };
  for (const auto& c : commands.actuators) {
    if (auto status = check(c.actuator, model.actuators.size(), "actuator"); !status.ok())
      return status;
    if (auto status = check_finite(std::isfinite(c.value), model.actuators[c.actuator].name);
        !status.ok())
      return status;
  }
  for (const auto& c : commands.joint_forces) {
    if (auto status = check(c.block, model.blocks.size(), "block"); !status.ok()) return status;
    if (auto status = check(c.velocity, model.blocks[c.block]->num_velocities(), "velocity");
        !status.ok())
      return status;
    if (auto status = check_finite(std::isfinite(c.force), "a joint"); !status.ok()) return status;
  }
  for (const auto& c : commands.twists) {
    if (auto status = check_controller(c.controller, Controller::Kind::kDifferentialIk);
        !status.ok())
      return status;
    if (auto status = check_finite(IsFinite(c.angular_W) && IsFinite(c.linear_W),
                                   model.controllers[c.controller].name);
        !status.ok())
      return status;
  }
  for (const auto& c : commands.link_poses) {
    if (auto status = check_controller(c.controller, Controller::Kind::kDifferentialIk);
        !status.ok())
      return status;
    if (auto status = check_finite(IsFinite(c.X_WL.p) && c.X_WL.R.allFinite(),
                                   model.controllers[c.controller].name);
        !status.ok())
      return status;
  }
  for (const auto& c : commands.gains) {
    if (auto status = check(c.actuator, model.actuators.size(), "actuator"); !status.ok())
      return status;
    const Actuator& actuator = model.actuators[c.actuator];
    const bool is_driven = model.joint_of(actuator).kind != RobotJoint::Kind::kActivation;
    const bool is_position = actuator.kind == Actuator::Kind::kPosition;
    // written so that NaN is refused
    if (is_driven &&
        (is_position ? c.stiffness >= 0 && std::isfinite(c.stiffness) : c.stiffness == 0) &&
        c.damping >= 0 && std::isfinite(c.damping) && c.effort_limit >= 0)
      continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the gains commanded for \"", actuator.name, "\" are not allowed; expected ",
                     is_driven ? "finite numbers of 0 or more, and a stiffness only where the "
                                 "actuator has a position target"
                               : "none, because it is an activation"));
  }
  for (const auto& c : commands.holds) {
    if (auto status = check(c.actuator, model.actuators.size(), "actuator"); !status.ok())
      return status;
    const Actuator& actuator = model.actuators[c.actuator];
    if (model.joint_of(actuator).kind == RobotJoint::Kind::kActivation) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", actuator.name, "\" is an activation and holds no position"));
    }
    if (auto status = check_finite(std::isfinite(c.position), actuator.name); !status.ok())
      return status;
  }
  for (const auto& c : commands.grippers) {
    if (auto status = check_controller(c.controller, Controller::Kind::kGripper); !status.ok())
      return status;
    if (auto status = check_finite(std::isfinite(c.position), model.controllers[c.controller].name);
        !status.ok())
      return status;
  }
  return absl::OkStatus();
}

// Checks the point of a force or spring.
absl::Status CheckPoint(const Model& model, const Body& body, int node) {
  const NodeSet* set = model.abilities_of(body).nodes;
  const int nodes = set == nullptr ? 0 : set->nodes_of(body.part).count;
  if (node >= -1 && node < std::max(nodes, 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("body \"", body.name, "\" has no vertex ", node, "; it has ", nodes));
}

absl::Status CheckSpring(const Model& model, const Inputs::PointSpring& spring) {
  const Body& body = model.bodies[spring.body];
  if (absl::Status status = CheckPoint(model, body, spring.node); !status.ok()) return status;
  if (spring.node < 0 && model.abilities_of(body).nodes != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("the spring commanded for body \"", body.name,
                                                   "\" has no vertex; it is deformable"));
  }
  // written so that NaN is refused
  if (IsFinite(spring.p_BP) && IsFinite(spring.p_WA) && std::isfinite(spring.stiffness) &&
      std::isfinite(spring.damping) && spring.stiffness >= 0 && spring.damping >= 0 &&
      spring.stiffness + spring.damping > 0 && spring.force_limit >= 0)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the spring commanded for body \"", body.name,
      "\" is not allowed; expected finite numbers, and a stiffness or damping above 0"));
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
    if (absl::Status status = CheckPoint(model, body, force.node); !status.ok()) return status;
    if (!IsFinite(force.force_W) || !IsFinite(force.torque_W) || !IsFinite(force.p_BP)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the force commanded for body \"", body.name, "\" is not finite"));
    }
  }
  for (const Inputs::PointSpring& spring : commands.springs) {
    if (absl::Status status = check_body(spring.body); !status.ok()) return status;
    if (absl::Status status = CheckSpring(model, spring); !status.ok()) return status;
  }
  for (const Inputs::PressureTarget& target : commands.pressures) {
    const int count = static_cast<int>(model.constraints.size());
    if (target.constraint < 0 || target.constraint >= count ||
        model.constraints[target.constraint].kind != Constraint::Kind::kVolume)
      return absl::InvalidArgumentError("a pressure is commanded for no volume constraint");
    if (!std::isfinite(target.gauge))
      return absl::InvalidArgumentError(absl::StrCat("the pressure commanded for \"",
                                                     model.constraints[target.constraint].name,
                                                     "\" is not finite"));
  }
  if (!std::ranges::all_of(commands.drives, [](double x) { return std::isfinite(x); }))
    return absl::InvalidArgumentError("the state of the drives is not finite");
  return CheckJointCommands(model, commands);
}

// Adds what a script commands of a joint or a controller.
void AddJointInput(const Model& model, const Script& script, double t, double h, Inputs* inputs) {
  const bool is_target = script.kind == Script::Kind::kActuator ||
                         script.kind == Script::Kind::kGripper ||
                         script.kind == Script::Kind::kPressure;
  const std::optional<std::array<double, 6>> value = SampleScriptedNumbers(script, is_target, t, h);
  if (!value) return;
  switch (script.kind) {
    case Script::Kind::kActuator:
      inputs->actuators.push_back({script.index, value->front()});
      break;
    case Script::Kind::kGripper:
      inputs->grippers.push_back({script.index, value->front()});
      break;
    case Script::Kind::kPressure:
      inputs->pressures.push_back({script.index, value->front()});
      break;
    case Script::Kind::kJointForce: {
      const RobotJoint& joint = model.robots[script.robot].joints[script.joint];
      inputs->joint_forces.push_back({joint.block, joint.velocity, value->front()});
      break;
    }
    case Script::Kind::kTwist:
      inputs->twists.push_back({script.index,
                                {(*value)[0], (*value)[1], (*value)[2]},
                                {(*value)[3], (*value)[4], (*value)[5]}});
      break;
    default:
      break;
  }
}

// Appends commands; each replaces scripted ones for the same target.
template <typename T, typename Same>
void Override(const std::vector<T>& commands, const Same& same, std::vector<T>* scripted) {
  std::erase_if(*scripted, [&](const T& a) {
    return std::any_of(commands.begin(), commands.end(), [&](const T& b) { return same(a, b); });
  });
  scripted->insert(scripted->end(), commands.begin(), commands.end());
}

}  // namespace

WorldFault MakeFault(const Model& model, const State& state, const absl::Status& error) {
  WorldFault fault;
  fault.step = state.step + 1;
  fault.time = state.time + model.time_step;
  fault.reason = std::string(error.message());
  fault.place = PlaceOf(error);
  if (fault.place.body >= 0) fault.body = model.bodies[fault.place.body].name;
  return fault;
}

World::World(std::shared_ptr<const Model> model)
    : model_(std::move(model)), state_(MakeInitialState(*model_)) {}

World::~World() = default;
World::World(World&&) noexcept = default;

Stepper& World::stepper() {
  if (stepper_ == nullptr) stepper_ = MakeStepper(*model_);
  PLIANT_DEMAND(stepper_ != nullptr);
  return *stepper_;
}

void World::Describe(ContactProblem* problem) {
  stepper().Describe(problem);
}

void World::WatchEnergy(bool watches) {
  watches_energy_ = watches;
  stepper().ReportWork(watches);
}

double World::CalcTotalEnergy() const {
  const Energies energies = CalcEnergies(*model_, state_, -1);
  return energies.kinetic + energies.elastic + energies.potential;
}

Inputs World::CalcScriptedInputs() const {
  Inputs inputs;
  AddScriptedInputs(&inputs);
  return inputs;
}

void World::AddScriptedInputs(Inputs* inputs) const {
  const double h = model_->time_step;
  const double t = state_.time + h;
  for (const Script& script : model_->script) {
    if (script.kind == Script::Kind::kPose) {
      const RigidTransform X_WB =
          SampleScriptedPose(script, model_->bodies[script.body].X_WB, t, h);
      inputs->poses.push_back({script.body, X_WB});
      continue;
    }
    if (script.kind != Script::Kind::kForce && script.kind != Script::Kind::kTorque) {
      AddJointInput(*model_, script, t, h, inputs);
      continue;
    }
    const std::optional<Eigen::Vector3d> value = SampleScriptedVector(script, t, h);
    if (!value) continue;
    Inputs::AppliedForce force{.body = script.body,
                               .node = script.node,
                               .at_center_of_mass = !script.has_point,
                               .p_BP = script.p_BP};
    (script.kind == Script::Kind::kForce ? force.force_W : force.torque_W) = *value;
    inputs->forces.push_back(force);
  }
}

absl::Status World::Step(const Inputs& commands) {
  if (absl::Status status = CheckCommands(*model_, commands); !status.ok()) return status;

  // a commanded target replaces the script's; forces add up
  inputs_.Clear();
  AddScriptedInputs(&inputs_);
  const auto same_body = [](const auto& a, const auto& b) { return a.body == b.body; };
  const auto same_actuator = [](const auto& a, const auto& b) { return a.actuator == b.actuator; };
  const auto same_controller = [](const auto& a, const auto& b) {
    return a.controller == b.controller;
  };
  const auto never = [](const auto&, const auto&) { return false; };
  Override(commands.poses, same_body, &inputs_.poses);
  Override(commands.forces, never, &inputs_.forces);
  Override(commands.actuators, same_actuator, &inputs_.actuators);
  Override(commands.joint_forces, never, &inputs_.joint_forces);
  Override(commands.twists, same_controller, &inputs_.twists);
  Override(commands.link_poses, same_controller, &inputs_.link_poses);
  Override(commands.grippers, same_controller, &inputs_.grippers);
  Override(commands.gains, same_actuator, &inputs_.gains);
  Override(commands.holds, same_actuator, &inputs_.holds);
  Override(commands.springs, never, &inputs_.springs);
  const auto same_constraint = [](const auto& a, const auto& b) {
    return a.constraint == b.constraint;
  };
  Override(commands.pressures, same_constraint, &inputs_.pressures);

  if (watches_energy_ && !energy_) energy_ = CalcTotalEnergy();
  const absl::Status status = stepper().Step(inputs_, model_->time_step, &state_, &next_report_);
  if (!status.ok()) return status;
  state_.drives.assign(commands.drives.begin(), commands.drives.end());
  if (watches_energy_) {
    next_report_.energy.before = *energy_;
    next_report_.energy.after = CalcTotalEnergy();
    energy_ = next_report_.energy.after;
  } else {
    energy_.reset();
  }
  std::swap(report_, next_report_);
  return absl::OkStatus();
}

void World::Reset() {
  state_ = MakeInitialState(*model_);
  energy_.reset();
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
  if (state->rest.size() != state_.rest.size() || state->controls.size() != state_.controls.size())
    return absl::InvalidArgumentError("the state's parts do not fit this model");
  if (!state->gains.empty() && state->gains.size() != 3 * model_->actuators.size())
    return absl::InvalidArgumentError("the state's gains do not fit this model");
  const auto is_finite = [](double x) { return std::isfinite(x); };
  const auto is_gain = [](double x) { return x >= 0; };
  if (!std::ranges::all_of(state->gains, is_gain) || !std::ranges::all_of(state->drives, is_finite))
    return absl::InvalidArgumentError("the state's gains or drives are not numbers in their range");
  const auto is_known = [this](int block) {
    return block >= 0 && block < static_cast<int>(model_->blocks.size());
  };
  const bool fits =
      std::ranges::all_of(state->resting_constraints, is_known, &ConstraintForce::block) &&
      std::ranges::all_of(state->constraints, [&](const ConstraintMemory& memory) {
        return is_known(memory.key.block);
      });
  if (!fits) return absl::InvalidArgumentError("the state names a part that this model lacks");
  if (!state->internals.empty() && state->internals.size() != model_->blocks.size())
    return absl::InvalidArgumentError("the state's internals do not fit this model");
  state->internals.resize(model_->blocks.size());
  state_ = *std::move(state);
  energy_.reset();
  report_ = {};
  return absl::OkStatus();
}

std::shared_ptr<const Snapshot> World::TakeSnapshot() const {
  return std::make_shared<const Snapshot>(Snapshot{model_, state_, report_});
}

}  // namespace pliant::physics
