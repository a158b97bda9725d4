#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <tbb/task_arena.h>

#include "benchmarks/measure.h"
#include "benchmarks/suite.h"
#include "physics/scene/scene.h"
#include "physics/spatial/trig.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;
using physics::Inputs;

// Lowers the paddle onto the ball and keeps the ball squeezed to `height` [m].
Inputs Squeeze(const physics::Model& model, double time, double height) {
  const int paddle = physics::FindBody(model, "paddle");
  Inputs inputs;
  // broad side down
  const Eigen::Matrix3d R =
      physics::RotationFromVector(Eigen::Vector3d(physics::kPi / 2, 0, 0)).toRotationMatrix();
  inputs.poses.push_back({paddle, {R, {0, 0, std::max(height + 0.01, 0.3 - 0.2 * time)}}});
  return inputs;
}

ordered_json RunBall(const std::string& name, const std::string& method, double from, double to,
                     double height) {
  physics::SceneOptions options;
  options.method = method;
  const physics::SceneResult scene =
      physics::LoadSceneFile(PLIANT_SOURCE_DIR "/scenes/soft_ball.yaml", options);
  if (!scene.ok()) {
    for (const auto& message : scene.messages)
      std::fprintf(stderr, "%s\n", physics::Format(message).c_str());
    return {{"case", name}, {"note", "the default scene does not load"}};
  }
  const double h = scene.model->time_step;
  std::vector<double> ms, rates;
  double converged = 0, contacts = 0;
  // repeat the same steps and report the median rate
  for (int run = 0; run < 5; ++run) {
    physics::World world(scene.model);
    double seconds = 0;
    int steps = 0;
    while (world.state().time < to - 1e-9) {
      const Inputs inputs =
          height > 0 ? Squeeze(*scene.model, world.state().time, height) : Inputs{};
      const double start = Now();
      const absl::Status status = world.Step(inputs);
      const double elapsed = Now() - start;
      if (!status.ok()) return {{"case", name}, {"note", status.ToString()}};
      if (world.state().time < from) continue;
      seconds += elapsed;
      ++steps;
      ms.push_back(1e3 * elapsed);
      converged += world.report().converged ? 1 : 0;
      contacts += static_cast<double>(world.report().contacts.size());
    }
    rates.push_back(steps * h / seconds);
  }
  const double count = static_cast<double>(ms.size());
  return {{"case", name},
          {"times_real_time", Quantile(rates, 0.5)},
          {"slowest_run", Quantile(rates, 0)},
          {"fastest_run", Quantile(rates, 1)},
          {"converged_fraction", converged / count},
          {"contacts_mean", contacts / count},
          {"step_ms", {{"median", Quantile(ms, 0.5)}, {"p95", Quantile(ms, 0.95)}}}};
}

// 27 soft balls of 147 vertices that fall onto each other. Bodies of one material share their rest
// shape and are factored in SIMD batches; tiny differences in density make each be factored alone.
std::string BallHeap(bool are_alike) {
  std::string yaml =
      "time_step: 0.01\ncontact: {friction: 0.5}\nbodies:\n"
      "  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}\n";
  for (int i = 0; i < 27; ++i) {
    const int layer = i / 9;
    char body[400];
    std::snprintf(body, sizeof body,
                  "  - name: ball_%d\n    deformable:\n"
                  "      mesh: {sphere: {radius: 0.05}, edge_length: 0.018}\n"
                  "      pose: {position: [%.3f, %.3f, %.3f]}\n"
                  "      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 2.0e5, "
                  "poissons_ratio: 0.4, density: %.12f}\n"
                  "      damping: {beta: 0.01}\n",
                  i, 0.13 * (i % 3) + 0.02 * (layer % 2), 0.13 * (i / 3 % 3) + 0.015 * layer,
                  0.06 + 0.12 * layer, are_alike ? 500.0 : 500 + 1e-9 * i);
    yaml += body;
  }
  return yaml;
}

ordered_json RunBatches(const std::string& name) {
  std::vector<double> ms[2];
  double contacts = 0;
  // the two worlds take turns, on one thread
  tbb::task_arena(1).execute([&] {
    const physics::SceneResult scenes[] = {physics::LoadSceneYaml(BallHeap(true), "alike"),
                                           physics::LoadSceneYaml(BallHeap(false), "alone")};
    for (int run = 0; run < 3; ++run) {
      physics::World worlds[] = {physics::World(scenes[0].model), physics::World(scenes[1].model)};
      for (int step = 0; step < 200; ++step) {
        for (int k = 0; k < 2; ++k) {
          const double start = ThreadNow();
          if (!worlds[k].Step().ok()) return;
          ms[k].push_back(1e3 * (ThreadNow() - start));
        }
        contacts += static_cast<double>(worlds[0].report().contacts.size());
      }
    }
  });
  if (ms[1].empty()) return {{"case", name}, {"note", "a step failed"}};
  const double batched = Quantile(ms[0], 0.5), alone = Quantile(ms[1], 0.5);
  return {{"case", name},
          {"contacts_mean", contacts / static_cast<double>(ms[1].size())},
          {"batched_ms", batched},
          {"alone_ms", alone},
          {"batch_gain", alone / batched}};
}

}  // namespace

ordered_json RunFoundation(const std::string& only) {
  ordered_json rows = ordered_json::array();
  const auto add = [&](const std::string& name, const std::function<ordered_json()>& run) {
    if (name.find(only) == std::string::npos) return;
    std::fprintf(stderr, "running %s …\n", name.c_str());
    rows.push_back(run());
  };
  add("ball_falls_and_rests", [] { return RunBall("ball_falls_and_rests", "", 0, 3, 0); });
  add("ball_squeezed", [] { return RunBall("ball_squeezed", "", 1.3, 3, 0.065); });
  add("corrective_ball_squeezed",
      [] { return RunBall("corrective_ball_squeezed", "corrective", 1.3, 3, 0.065); });
  add("soft_balls_in_batches", [] { return RunBatches("soft_balls_in_batches"); });
  return rows;
}

}  // namespace pliant::benchmarks
