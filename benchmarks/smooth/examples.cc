#include "benchmarks/smooth/examples.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "benchmarks/measure.h"
#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;
using physics::World;

struct Example {
  std::string name, scene;
  double duration;  // [s]
  std::vector<std::string> overrides;
  ordered_json paper;
  int num_samples = 20;  // of the probes, over the duration
};

ordered_json Run(const Example& example) {
  ordered_json row{{"case", example.name}};
  physics::SceneOptions options;
  options.overrides = example.overrides;
  options.overrides.push_back("sleeping=false");
  const physics::SceneResult scene = physics::LoadSceneFile(
      absl::StrCat(PLIANT_SOURCE_DIR "/scenes/", example.scene, ".yaml"), options);
  if (!scene.ok()) {
    row["note"] = Format(scene.messages.front());
    return row;
  }
  ForgetPeakMemory();
  const double memory = ReadPeakMemory();
  World world(scene.model);
  const double h = world.model().time_step;
  const int steps = static_cast<int>(std::ceil(example.duration / h - 1e-9));
  std::vector<double> ms;
  double iterations = 0, converged = 0, substeps = 0, sum = 0, cpu = 0;
  std::vector<double> times;
  std::vector<ordered_json> values(world.model().probes.size(), ordered_json::array());
  const auto sample = [&] {
    times.push_back(world.state().time);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::vector<double> numbers =
          SampleProbe(world.model(), world.model().probes[k], world.state(), world.report(), h)
              .numbers;
      values[k].push_back(numbers.size() == 1 ? ordered_json(numbers[0]) : ordered_json(numbers));
    }
  };
  sample();
  for (int step = 1; step <= steps; ++step) {
    const double start = Now(), cpu_start = ProcessNow();
    if (const absl::Status status = world.Step(); !status.ok()) {
      row["note"] = status.message();
      break;
    }
    ms.push_back(1e3 * (Now() - start));
    sum += ms.back();
    cpu += ProcessNow() - cpu_start;
    iterations += world.report().iterations;
    converged += world.report().converged;
    substeps += world.report().compromises[physics::Compromise::kHalved];
    if (step * example.num_samples / steps != (step - 1) * example.num_samples / steps) sample();
  }
  const double count = static_cast<double>(ms.size());
  row["time_step"] = h;
  row["steps"] = ms.size();
  if (ms.empty()) return row;
  row["s_per_step"] = 1e-3 * sum / count;
  row["cpu_s_per_step"] = cpu / count;  // other load on the machine does not count
  row["step_ms"] = {{"median", Quantile(ms, 0.5)}, {"p95", Quantile(ms, 0.95)}};
  row["iterations_mean"] = iterations / count;
  row["converged_fraction"] = converged / count;
  row["halved"] = substeps;
  row["memory_gb"] = 1e-3 * (ReadPeakMemory() - memory);
  row["paper"] = example.paper;
  row["t"] = times;
  for (std::size_t k = 0; k < values.size(); ++k) row[world.model().probes[k].name] = values[k];
  return row;
}

// Table II of the paper: (a) to (d) on 1 K, 55 K and 160 K tetrahedra.
std::vector<Example> ListSquishes() {
  struct Table {
    const char *name, *bulk_modulus, *youngs_modulus;
    double direct[3], iterative[3], loss[3];  // [s/frame]; fraction of the volume
  };
  const Table tables[] = {
      {"a", "101325", "1e5", {0.354, 15.9, 61.0}, {0.391, 31.9, 111}, {0.336, 0.278, 0.277}},
      {"b", "1.01325e7", "1e5", {1.08, 89.1, 0}, {0.463, 42.6, 0}, {0.0049, 0.0036, 0}},
      {"d", "1", "1e6", {0.312, 8.28, 25.5}, {0.593, 28.3, 56.2}, {0.743, 0.746, 0.750}},
  };
  struct Size {
    const char *name, *edge_length;
  };
  const Size sizes[] = {{"1k", "0.0275"}, {"55k", "0.0068"}, {"160k", "0.0047"}};
  std::vector<Example> examples;
  for (const Table& table : tables) {
    for (int k = 0; k < 3; ++k) {
      for (const char* solver : {"DIRECT", "ITERATIVE"}) {
        const bool is_direct = std::string(solver) == "DIRECT";
        Example& example = examples.emplace_back();
        example.name = absl::StrCat("squish_", table.name, "_", sizes[k].name,
                                    is_direct ? "_direct" : "_iterative");
        example.scene = "ball_squish";
        example.duration = 0.804;
        example.overrides = {
            absl::StrCat("bodies[0].deformable.mesh.edge_length=", sizes[k].edge_length),
            absl::StrCat("bodies[0].deformable.material.youngs_modulus=", table.youngs_modulus),
            absl::StrCat("constraints[0].volume.bulk_modulus=", table.bulk_modulus),
            absl::StrCat("method.smooth.linear_solver=", solver)};
        const double seconds = is_direct ? table.direct[k] : table.iterative[k];
        if (seconds > 0) example.paper = {{"s_per_step", seconds}, {"volume_loss", table.loss[k]}};
      }
    }
  }
  // (c): without the change of pressure in the Jacobian
  for (const char* name : {"squish_a_1k_direct", "squish_a_1k_iterative"}) {
    Example example = *std::ranges::find(examples, name, &Example::name);
    example.name = absl::StrReplaceAll(name, {{"_a_", "_c_"}});
    example.overrides.push_back("method.smooth.volume_tangent=SPARSE");
    example.paper = nullptr;
    examples.push_back(std::move(example));
  }
  return examples;
}

std::vector<Example> ListExamples() {
  std::vector<Example> examples = ListSquishes();
  examples.push_back({"ball_in_box", "ball_in_box", 0.3, {}, nullptr, 300});
  // Figure 6: TR with contacts inside the rule or, as in incremental potential contact, at its end
  for (const char* at_end : {"false", "true"}) {
    examples.push_back(
        {absl::StrCat("ball_in_box_TR_at_end_", at_end),
         "ball_in_box",
         0.3,
         {"method.smooth.integrator=TR", absl::StrCat("method.smooth.contact_at_end=", at_end)},
         nullptr,
         300});
  }
  for (const char* friction : {"IMPLICIT", "LAGGED"}) {
    for (const char* h : {"0.005", "0.0025", "0.00125"}) {
      examples.push_back(
          {absl::StrCat("bowl_grasp_", friction, "_", h),
           "bowl_grasp",
           0.75,
           {absl::StrCat("method.smooth.friction=", friction), absl::StrCat("time_step=", h)},
           nullptr,
           150});
    }
  }
  for (const char* gauge : {"101325", "0"}) {
    const std::string pressure = absl::StrCat("constraints[0].volume.gauge_pressure=", gauge);
    examples.push_back({absl::StrCat("tennis_ball_", gauge),
                        "tennis_ball",
                        0.004,
                        {pressure},
                        {{"s_per_step", 4.89}, {"tetrahedra", 100000}},
                        100});
  }
  // starts 2 mm above the ground, with the speed of a ball that was released at 2.54 m
  const auto drop = [&](const char* name, std::vector<std::string> overrides) {
    overrides.push_back("bodies[1].deformable.pose.position=[0, 0, 0.0355]");
    overrides.push_back("bodies[1].deformable.velocity={linear: [0, 0, -7.00987]}");
    examples.push_back({name, "tennis_ball_drop", 0.014, std::move(overrides), nullptr, 100});
  };
  const std::string empty = "constraints[0].volume.gauge_pressure=0",
                    undamped = "bodies[1].deformable.damping.beta=0";
  drop("tennis_drop_full", {});
  drop("tennis_drop_full_half_step", {"time_step=1.25e-4"});
  drop("tennis_drop_empty", {empty});
  drop("tennis_drop_BDF2", {"method.smooth.integrator=BDF2"});
  drop("tennis_drop_BE", {"method.smooth.integrator=BE"});
  drop("tennis_undamped_SDIRK2", {undamped});
  drop("tennis_undamped_BDF2", {undamped, "method.smooth.integrator=BDF2"});
  drop("tennis_undamped_BE", {undamped, "method.smooth.integrator=BE"});
  return examples;
}

}  // namespace

void AddSmoothExamples(const AddRow& add) {
  for (const Example& example : ListExamples()) {
    add(example.name, [&] { return Run(example); });
  }
}

}  // namespace pliant::benchmarks
