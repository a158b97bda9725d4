// Worlds of one robot stepped together in this process: what a server and its clients add to it is
// measured by `clients` and `python`, on the same worlds.

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <tbb/parallel_for.h>

#include "benchmarks/measure.h"
#include "benchmarks/suite.h"
#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;

constexpr int kWorlds = 64;
constexpr double kSeconds = 3;

// The scene of benchmarks/python/lockstep.py.
constexpr char kRobot[] = R"(name: one_robot
robots:
  - {name: arm, file: )" PLIANT_SOURCE_DIR R"(/scenes/robots/iiwa14.urdf,
     actuators: [{joint: ".*", pd: {stiffness: 1000, damping: 50}}]}
probes:
  - {name: tip, position: {link: arm/iiwa_link_7, point: [0, 0, 0]}}
)";

// A world with the targets of its actuators, and what is observed of it after each step: positions,
// velocities and the probe.
struct Rollout {
  explicit Rollout(const std::shared_ptr<const physics::Model>& model)
      : world(model), sampler(*model) {}

  bool Step() {
    if (!world.Step(inputs).ok()) return false;
    const physics::State& state = world.state();
    observed.assign(state.q.begin(), state.q.end());
    observed.insert(observed.end(), state.v.begin(), state.v.end());
    const physics::Model& model = world.model();
    const auto tip = sampler.Sample(model.probes.front(), state, world.report(), model.time_step);
    observed.insert(observed.end(), tip.numbers.begin(), tip.numbers.end());
    return world.report().converged;
  }

  physics::World world;
  physics::ProbeSampler sampler;
  physics::Inputs inputs;
  std::vector<double> observed;
};

}  // namespace

ordered_json RunRollouts(const std::string& only) {
  const std::string name = "rollouts";
  if (name.find(only) == std::string::npos) return ordered_json::array();
  const physics::SceneResult scene = physics::LoadSceneYaml(kRobot, "robot.yaml");
  if (!scene.ok()) {
    return ordered_json::array(
        {{{"case", name}, {"note", physics::Format(scene.messages.front())}}});
  }
  std::vector<std::unique_ptr<Rollout>> rollouts;
  for (int i = 0; i < kWorlds; ++i) rollouts.push_back(std::make_unique<Rollout>(scene.model));
  const auto step = [&](int i, int count) {
    std::vector<physics::Inputs::ActuatorTarget>& targets = rollouts[i]->inputs.actuators;
    targets.clear();
    for (int joint = 0; joint < static_cast<int>(scene.model->actuators.size()); ++joint)
      targets.push_back({joint, 0.3 * std::sin(0.02 * count + i + joint)});
    return rollouts[i]->Step();
  };
  std::vector<char> converged(kWorlds, 1);
  double best = 0;
  int count = 0;
  for (int turn = 0; turn < 3; ++turn) {
    const double start = Now();
    const int first = count;
    for (; Now() - start < kSeconds; ++count) {
      tbb::parallel_for(0, kWorlds, [&](int i) { converged[i] &= step(i, count); });
    }
    best = std::max(best, kWorlds * (count - first) / (Now() - start));
  }
  return ordered_json::array(
      {{{"case", name},
        {"worlds", kWorlds},
        {"numbers", rollouts.front()->observed.size()},
        {"converged", std::ranges::all_of(converged, [](char each) { return each != 0; })},
        {"world_steps_per_s", best}}});
}

}  // namespace pliant::benchmarks
