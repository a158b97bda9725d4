// Steps worlds of one robot together in this process. The suites `clients` and `python` step the
// same worlds through a server.

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <tbb/parallel_for.h>

#include "benchmarks/measure.h"
#include "benchmarks/rollouts/cases.h"
#include "benchmarks/suite.h"
#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;

constexpr int kTurns = 3;

// A world with the targets of its actuators, and its observation after each step: positions and
// velocities of the joints, and probes.
struct Rollout {
  Rollout(const std::shared_ptr<const physics::Model>& model, const std::vector<std::string>& names)
      : world(model), sampler(*model) {
    for (const std::string& name : names)
      probes.push_back(&*std::ranges::find(model->probes, name, &physics::Probe::name));
  }

  bool Step() {
    if (!world.Step(inputs).ok()) return false;
    const physics::Model& model = world.model();
    const physics::State& state = world.state();
    observed.clear();
    for (const physics::Robot& robot : model.robots) {
      for (const physics::RobotJoint& joint : robot.joints) {
        if (joint.num_velocities != 1) continue;
        observed.push_back(model.Positions(state, joint.block)[joint.position]);
        observed.push_back(model.Velocities(state, joint.block)[joint.velocity]);
      }
    }
    for (const physics::Probe* probe : probes) {
      const auto value = sampler.Sample(*probe, state, world.report(), model.time_step);
      observed.insert(observed.end(), value.numbers.begin(), value.numbers.end());
    }
    return world.report().converged;
  }

  physics::World world;
  physics::ProbeSampler sampler;
  std::vector<const physics::Probe*> probes;
  physics::Inputs inputs;
  std::vector<double> observed;
};

ordered_json Run(const RolloutCase& one) {
  const std::string yaml = absl::StrReplaceAll(
      one.ReadScene(), {{"file: robots/", "file: " PLIANT_SOURCE_DIR "/scenes/robots/"}});
  const physics::SceneResult scene = physics::LoadSceneYaml(yaml, one.scene);
  if (!scene.ok()) return {{"case", one.name}, {"note", physics::Format(scene.messages.front())}};
  const physics::Model& model = *scene.model;
  std::array<int, kArmJoints> arm;
  for (int joint = 0; joint < kArmJoints; ++joint) {
    const std::string name = absl::StrCat(one.robot, "/iiwa_joint_", joint + 1);
    arm[joint] =
        static_cast<int>(std::ranges::find(model.actuators, name, &physics::Actuator::name) -
                         model.actuators.begin());
  }
  std::vector<std::unique_ptr<Rollout>> rollouts;
  for (int i = 0; i < kRolloutWorlds; ++i)
    rollouts.push_back(std::make_unique<Rollout>(scene.model, one.probes));
  const auto step = [&](int i, int count) {
    std::vector<physics::Inputs::ActuatorTarget>& targets = rollouts[i]->inputs.actuators;
    targets.clear();
    for (int joint = 0; joint < kArmJoints; ++joint)
      targets.push_back({arm[joint], one.CalcTarget(count, i, joint)});
    return rollouts[i]->Step();
  };
  std::vector<char> converged(kRolloutWorlds, 1);
  double best = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (const auto& rollout : rollouts) rollout->world.Reset();
    const double start = Now();
    for (int count = 0; count < one.rounds; ++count)
      tbb::parallel_for(0, kRolloutWorlds, [&](int i) { converged[i] &= step(i, count); });
    best = std::max(best, kRolloutWorlds * one.rounds / (Now() - start));
  }
  return {{"case", one.name},
          {"worlds", kRolloutWorlds},
          {"numbers", rollouts.front()->observed.size()},
          {"converged", std::ranges::all_of(converged, [](char each) { return each != 0; })},
          {"world_steps_per_s", best}};
}

}  // namespace

ordered_json RunRollouts(const std::string& only) {
  ordered_json rows = ordered_json::array();
  for (const RolloutCase& one : kRolloutCases)
    if (one.name.find(only) != std::string::npos) rows.push_back(Run(one));
  return rows;
}

}  // namespace pliant::benchmarks
