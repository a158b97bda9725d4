#include "physics/dynamics/model.h"

namespace pliant::physics {
namespace {

std::size_t Size(const std::vector<int>& offsets, int i) {
  return offsets[i + 1] - offsets[i];
}

}  // namespace

void Model::Finish() {
  position_offsets.assign(1, 0);
  velocity_offsets.assign(1, 0);
  abilities.clear();
  for (const auto& block : blocks) {
    abilities.push_back(block->abilities());
    position_offsets.push_back(position_offsets.back() + block->num_positions());
    velocity_offsets.push_back(velocity_offsets.back() + block->num_velocities());
  }
}

std::span<const double> Model::Positions(const State& state, int block) const {
  return {state.q.data() + position_offsets[block], Size(position_offsets, block)};
}

std::span<double> Model::Positions(State* state, int block) const {
  return {state->q.data() + position_offsets[block], Size(position_offsets, block)};
}

std::span<const double> Model::Velocities(const State& state, int block) const {
  return {state.v.data() + velocity_offsets[block], Size(velocity_offsets, block)};
}

std::span<double> Model::Velocities(State* state, int block) const {
  return {state->v.data() + velocity_offsets[block], Size(velocity_offsets, block)};
}

BlockState Model::StateOf(const State& state, int block) const {
  const std::size_t index = block;
  return {Positions(state, block), Velocities(state, block),
          index < state.internals.size() ? std::span<const double>(state.internals[index])
                                         : std::span<const double>()};
}

MutableBlockState Model::StateOf(State* state, int block) const {
  const std::size_t index = block;
  return {Positions(state, block), Velocities(state, block),
          index < state->internals.size() ? &state->internals[index] : nullptr};
}

State MakeInitialState(const Model& model) {
  State state;
  state.internals.resize(model.blocks.size());
  state.q.resize(model.position_offsets.back());
  state.v.resize(model.velocity_offsets.back());
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const int block = static_cast<int>(i);
    model.blocks[i]->SetInitialState(model.StateOf(&state, block));
  }
  for (const Actuator& actuator : model.actuators)
    state.controls.push_back(actuator.initial_target);
  for (const Controller& controller : model.controllers) {
    if (controller.kind == Controller::Kind::kDifferentialIk)
      state.controls.resize(state.controls.size() + controller.actuators.size(), 0.0);
  }
  state.rest.assign(model.blocks.size(), 0);
  return state;
}

RigidTransform CalcBodyPose(const Model& model, const State& state, int body) {
  return CalcBodyMotion(model, state, body).X_WB;
}

FrameMotion CalcBodyMotion(const Model& model, const State& state, int body) {
  const Body& b = model.bodies[body];
  FrameMotion still;
  still.X_WB = b.X_WB;
  const FrameSet* set = model.abilities_of(b).frames;
  if (set == nullptr) return still;
  std::vector<FrameMotion> frames(set->num_frames());
  set->CalcFrames(model.StateOf(state, b.block), frames);
  return frames[b.frame];
}

namespace {

template <typename T>
int FindByName(const std::vector<T>& things, std::string_view name) {
  for (std::size_t i = 0; i < things.size(); ++i) {
    if (things[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

int CountPoints(const Model& model, const Body& body) {
  const ElementSet* elements = model.abilities_of(body).elements;
  if (elements == nullptr || !elements->are_points(body.part)) return 0;
  return elements->elements_of(body.part).count;
}

int FindBody(const Model& model, std::string_view name) {
  return FindByName(model.bodies, name);
}

int FindActuator(const Model& model, std::string_view name) {
  return FindByName(model.actuators, name);
}

int FindController(const Model& model, std::string_view name) {
  return FindByName(model.controllers, name);
}

}  // namespace pliant::physics
