// The block slide of Larionov et al. 2023 (§V-A1, Figure 4) with every integrator and with lagged
// friction, and both linear solvers on shipped scenes.

#include <cmath>
#include <cstdio>
#include <functional>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "benchmarks/smooth/examples.h"
#include "benchmarks/smooth/peers.h"
#include "benchmarks/suite.h"
#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;
using physics::World;

// Distance at which Coulomb's law stops the block of scenes/block_slide.yaml, speed below which it
// counts as stopped, and longest run.
constexpr double kStopsAt = 0.7689, kStickSpeed = 1e-3, kLongest = 50;  // [m], [m/s], [s]

struct Friction {
  const char* name;
  std::vector<std::string> overrides;
};
const Friction kFrictions[] = {
    {"implicit", {}},
    {"lagged_1", {"method.smooth.friction=LAGGED", "method.smooth.passes=1"}},
    {"lagged_3", {"method.smooth.friction=LAGGED", "method.smooth.passes=3"}},
    {"lagged_10", {"method.smooth.friction=LAGGED", "method.smooth.passes=10"}},
    {"as_in_ipc",
     {"method.smooth.friction=LAGGED", "method.smooth.passes=1",
      "method.smooth.contact_at_end=true"}},
    {"at_end", {"method.smooth.contact_at_end=true"}},
};

double ReadX(const World& world, const char* name) {
  for (const physics::Probe& probe : world.model().probes) {
    if (probe.name == name) {
      return SampleProbe(world.model(), probe, world.state(), world.report(),
                         world.model().time_step)
          .numbers[0];
    }
  }
  return std::nan("");
}

std::shared_ptr<const physics::Model> Load(const std::string& scene,
                                           std::vector<std::string> overrides, ordered_json* row) {
  physics::SceneOptions options;
  options.method = "smooth";
  options.overrides = std::move(overrides);
  options.overrides.push_back("sleeping=false");
  physics::SceneResult result =
      physics::LoadSceneFile(absl::StrCat(PLIANT_SOURCE_DIR "/scenes/", scene, ".yaml"), options);
  if (!result.ok())
    (*row)["note"] =
        result.messages.empty() ? "the scene does not load" : Format(result.messages.front());
  return result.model;
}

ordered_json RunSlide(const std::string& name, const char* integrator, const Friction& friction,
                      double h) {
  ordered_json row{{"case", name}, {"time_step", h}};
  std::vector<std::string> overrides = friction.overrides;
  overrides.push_back(absl::StrCat("method.smooth.integrator=", integrator));
  overrides.push_back(absl::StrCat("time_step=", h));
  const auto model = Load("block_slide", overrides, &row);
  if (model == nullptr) return row;
  World world(model);
  double speed = 1, converged = 0, iterations = 0;
  std::vector<double> ms;
  while (speed > kStickSpeed && world.state().time < kLongest) {
    const double start = Now();
    if (const absl::Status status = world.Step(); !status.ok()) {
      row["note"] = status.message();
      return row;
    }
    ms.push_back(1e3 * (Now() - start));
    converged += world.report().converged;
    iterations += world.report().iterations;
    speed = ReadX(world, "block_v");
  }
  const double steps = static_cast<double>(ms.size());
  row["stops"] = speed <= kStickSpeed;
  row["distance"] = ReadX(world, "block_p");
  row["of_coulomb"] = ReadX(world, "block_p") / kStopsAt;
  row["time"] = world.state().time;
  row["step_ms"] = {{"median", Quantile(ms, 0.5)}, {"p95", Quantile(ms, 0.95)}};
  row["iterations_mean"] = iterations / steps;
  row["converged_fraction"] = converged / steps;
  return row;
}

// Runs DIRECT and ITERATIVE three times in alternation: median step times, and their ratio.
ordered_json RunSolvers(const std::string& scene) {
  ordered_json row{{"case", absl::StrCat("solvers_", scene)}};
  constexpr int kSteps = 25, kRounds = 3;
  std::vector<double> seconds[2];
  double iterations[2] = {}, linear[2] = {}, converged[2] = {};
  for (int round = 0; round < kRounds; ++round) {
    for (int k = 0; k < 2; ++k) {
      const auto model = Load(
          scene, {absl::StrCat("method.smooth.linear_solver=", k == 0 ? "DIRECT" : "ITERATIVE")},
          &row);
      if (model == nullptr) return row;
      World world(model);
      const double start = Now();
      for (int n = 0; n < kSteps; ++n) {
        if (const absl::Status status = world.Step(); !status.ok()) {
          row["note"] = status.message();
          return row;
        }
        iterations[k] += world.report().iterations;
        linear[k] += world.report().linear_iterations;
        converged[k] += world.report().converged;
      }
      seconds[k].push_back(Now() - start);
    }
  }
  const char* names[] = {"direct", "iterative"};
  for (int k = 0; k < 2; ++k) {
    row[names[k]] = {{"step_ms", 1e3 * Quantile(seconds[k], 0.5) / kSteps},
                     {"iterations_mean", iterations[k] / (kSteps * kRounds)},
                     {"linear_iterations_mean", linear[k] / (kSteps * kRounds)},
                     {"converged_fraction", converged[k] / (kSteps * kRounds)}};
  }
  row["iterative_ratio"] = Quantile(seconds[1], 0.5) / Quantile(seconds[0], 0.5);
  return row;
}

}  // namespace

ordered_json RunLarionov2023(const std::string& only) {
  ordered_json rows = ordered_json::array();
  const auto add = [&](const std::string& name, const std::function<ordered_json()>& run) {
    if (name.find(only) == std::string::npos) return;
    std::fprintf(stderr, "running %s …\n", name.c_str());
    rows.push_back(run());
  };
  for (const double h : {0.01, 0.02, 0.05, 0.1}) {
    for (const Friction& friction : kFrictions) {
      const bool is_lagged = !friction.overrides.empty();
      for (const char* integrator : {"BE", "TR", "BDF2", "TR_BDF2", "SDIRK2"}) {
        // the paper uses lagged friction with these two only
        if (is_lagged && std::string(integrator) != "BE" && std::string(integrator) != "TR")
          continue;
        if (friction.overrides.size() != 2 && is_lagged && std::string(integrator) != "TR")
          continue;
        const std::string name =
            absl::StrCat("slide_", integrator, "_", friction.name, "_", std::lround(1e3 * h), "ms");
        add(name, [&] { return RunSlide(name, integrator, friction, h); });
      }
    }
  }
  for (const char* scene : {"soft_box_rest", "soft_ball", "inflated_ball", "rubber_pumpkin"})
    add(absl::StrCat("solvers_", scene), [&] { return RunSolvers(scene); });
  AddSmoothExamples(add);
  AddSmoothPeers(add);
  return rows;
}

}  // namespace pliant::benchmarks
