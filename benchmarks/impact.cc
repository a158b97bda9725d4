// Bodies that fall onto fixed ones, over all phases of the step in which they arrive: how deep they
// overlap, and how fast they leave.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"

#include "benchmarks/peers/peer.h"
#include "benchmarks/suite.h"
#include "physics/scene/scene.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using Eigen::Vector3d;
using nlohmann::ordered_json;
using physics::World;

constexpr const char* kImpactMethods[] = {"convex", "corrective", "nonsmooth"};
constexpr int kImpactPhases = 40;
constexpr double kImpactSpeeds[] = {0.1, 1.0, 3.0, 10.0, 20.0};  // [m/s]
constexpr double kImpactSteps[] = {0.001, 0.005, 0.01, 0.02};    // [s]
constexpr double kImpactFriction = 0.5;

// A body that falls flat.
struct Faller {
  const char* name;
  const char* geometry;  // the body in the scene, up to its pose
  double height;         // of its origin above its lowest point [m]
  // The shape as the peers describe it; null if they lack it.
  const char* peer_shape;
  std::vector<double> peer_size;
};

const Faller kFallers[] = {
    {"cube",
     "rigid: {motion: FREE, density: 1000, shapes: [{box: {size: [0.1, 0.1, 0.1]}}], ",
     0.05,
     "box",
     {0.05, 0.05, 0.05}},
    {"ball",
     "rigid: {motion: FREE, density: 1000, shapes: [{sphere: {radius: 0.05}}], ",
     0.05,
     "sphere",
     {0.05}},
    {"plate",
     "rigid: {motion: FREE, density: 1000, shapes: [{box: {size: [0.1, 0.1, 0.004]}}], ",
     0.002,
     "box",
     {0.05, 0.05, 0.002}},
    {"pill",
     "rigid: {motion: FREE, density: 1000, shapes: [{capsule: {radius: 0.03, length: "
     "0.1}}], ",
     0.08,
     "capsule",
     {0.03, 0.05}},
    {"soft_box",
     "deformable: {mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}, material: "
     "{model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: 1000}, ",
     0.05,
     nullptr,
     {}},
};

struct Ground {
  const char* name;
  const char* shape;
};
constexpr Ground kGrounds[] = {
    {"half_space", "{half_space: {}}"},
    {"box", "{box: {size: [1, 1, 0.2]}, pose: {position: [0, 0, -0.1]}}"},
};

struct Outcome {
  double overlap = 0;  // deepest [m]
  double rebound = 0;  // largest upward velocity, the mean of the nodes if soft [m/s]
  double unconverged = 0, steps = 0;
};

Vector3d FindVelocity(const World& world) {
  const physics::Model& model = world.model();
  const auto v = model.Velocities(world.state(), model.bodies[1].block);
  const physics::NodeSet* set = model.abilities_of(model.bodies[1]).nodes;
  if (set == nullptr) return {v[3], v[4], v[5]};
  Vector3d sum = Vector3d::Zero();
  for (int i = 0; i < set->num_nodes(); ++i) sum += Vector3d(v[3 * i], v[3 * i + 1], v[3 * i + 2]);
  return sum / set->num_nodes();
}

// Lets the body fall with `speed` [m/s], so that it arrives in the third step of `h` [s], after the
// fraction `phase` of it. False if a step fails.
bool Fall(const Faller& faller, const Ground& ground, const std::string& method, double speed,
          double h, double phase, Outcome* outcome) {
  const double drop = (2 + phase) * h * speed;
  const std::string yaml = absl::StrCat(
      "time_step: ", h, "\nsleeping: false\ncontact: {friction: ", kImpactFriction,
      "}\nbodies:\n  - {name: ground, "
      "rigid: {motion: FIXED, shapes: [",
      ground.shape, "]}}\n  - {name: body, ", faller.geometry, "pose: {position: [0, 0, ",
      faller.height + drop, "]}, velocity: {linear: [0, 0, ", -speed, "]}}}\n");
  physics::SceneOptions options;
  options.method = method;
  const physics::SceneResult scene = physics::LoadSceneYaml(yaml, "impact", options);
  for (const auto& message : scene.messages)
    std::fprintf(stderr, "%s\n", physics::Format(message).c_str());
  if (!scene.ok()) return false;
  World world(scene.model);
  const int steps = std::max(12, static_cast<int>(0.2 / h));
  for (int s = 0; s < steps; ++s) {
    if (!world.Step().ok()) return false;
    outcome->steps += 1;
    outcome->unconverged += world.report().converged ? 0 : 1;
    const physics::Model& model = world.model();
    const auto q = model.Positions(world.state(), model.bodies[1].block);
    double lowest = 1e300;
    if (model.abilities_of(model.bodies[1]).nodes != nullptr) {
      for (std::size_t i = 2; i < q.size(); i += 3) lowest = std::min(lowest, q[i]);
    } else {
      lowest = q[6] - faller.height;  // ignores rotation
    }
    outcome->overlap = std::max(outcome->overlap, -lowest);
    outcome->rebound = std::max(outcome->rebound, FindVelocity(world).z());
  }
  return true;
}

// Results of the peers for every speed and, within it, every time step; null if the peers lack the
// shape.
ordered_json RunPeers(const Faller& faller) {
  if (faller.peer_shape == nullptr) return nullptr;
  ordered_json given{
      {"phases", kImpactPhases}, {"friction", kImpactFriction}, {"cases", ordered_json::array()}};
  for (const double speed : kImpactSpeeds)
    for (const double h : kImpactSteps)
      given["cases"].push_back({{"shape", faller.peer_shape},
                                {"size", faller.peer_size},
                                {"height", faller.height},
                                {"speed", speed},
                                {"time_step", h}});
  ordered_json results;
  for (const auto& [name, script, module] : {std::tuple("MuJoCo", "mujoco_impact.py", "mujoco"),
                                             std::tuple("Drake", "drake_impact.py", "pydrake")})
    if (auto result = RunPeer(script, module, given)) results[name] = *result;
  return results;
}

}  // namespace

ordered_json RunImpact(const std::string& only) {
  ordered_json rows = ordered_json::array();
  for (const Faller& faller : kFallers) {
    std::optional<ordered_json> peers;
    for (const Ground& ground : kGrounds) {
      for (const char* method : kImpactMethods) {
        int number = -1;
        for (const double speed : kImpactSpeeds) {
          for (const double h : kImpactSteps) {
            ++number;
            const std::string name =
                absl::StrCat(faller.name, "_on_", ground.name, "_", method, "_", speed, "_", h);
            if (name.find(only) == std::string::npos) continue;
            if (!peers) peers = RunPeers(faller);
            Outcome worst;
            double min_rebound = std::numeric_limits<double>::infinity();
            bool succeeded = true;
            for (int k = 0; k < kImpactPhases; ++k) {
              Outcome one;
              succeeded = succeeded &&
                          Fall(faller, ground, method, speed, h, (k + 0.5) / kImpactPhases, &one);
              worst.overlap = std::max(worst.overlap, one.overlap);
              worst.rebound = std::max(worst.rebound, one.rebound);
              min_rebound = std::min(min_rebound, one.rebound);
              worst.unconverged += one.unconverged;
              worst.steps += one.steps;
            }
            ordered_json row{{"case", name},
                             {"overlap_mm", 1e3 * worst.overlap},
                             {"rebound", worst.rebound},
                             {"least_rebound", min_rebound},
                             {"unconverged", worst.unconverged / worst.steps}};
            if (!succeeded) row["note"] = "a step failed";
            for (const auto& [peer, results] : peers->items()) {
              const ordered_json& theirs = results.at("cases")[number];
              row[peer + "_overlap_mm"] = theirs.at("overlap_mm");
              row[peer + "_rebound"] = theirs.at("rebound");
              row[peer + "_version"] = results.at("version");
            }
            rows.push_back(row);
          }
        }
      }
    }
  }
  return rows;
}

}  // namespace pliant::benchmarks
