// The examples of Macklin et al. 2019 at the iteration counts of its Table 2, without early exit or sleeping, with the times of
// that table beside ours; and the same steps solved to tolerance with friction on cones.

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "benchmarks/suite.h"
#include "physics/scene/scene.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;
using physics::World;

// A line of Table 2.
struct TableLine {
  std::string name;
  std::string scene;  // a file in scenes/, or, with a line break, the text of one
  std::vector<std::string> overrides;
  double from, until;  // what is timed [s]
  int bodies, contacts;
  int newton, linear;  // iterations
  double assembly_ms, solve_ms;
};

// A square of robots two metres apart.
std::string Square(const std::string& of, int count) {
  std::string text = absl::StrCat("instances:\n  - of: ", of, "\n    poses:\n");
  const int side = static_cast<int>(std::ceil(std::sqrt(count)));
  for (int k = 0; k < count; ++k)
    absl::StrAppend(&text, "      - {position: [", 2 * (k % side), ", ", 2 * (k / side),
                    ", 0.03]}\n");
  return text;
}

// Seventeen joints and thirteen bodies each, that run as limply as they fall.
std::string Humanoids(int count) {
  return absl::StrCat(R"(
name: humanoids
time_step: 0.008333333333333333
contact: {friction: 0.8}
bodies: [{name: ground, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}]
robots:
  - name: humanoid
    template: true
    file: )",
                      PLIANT_SOURCE_DIR, R"(/scenes/robots/humanoid.xml
    base: FREE
    actuators:
      - {joint: "(abdomen|right_hip|left_hip|right_knee|left_knee).*", pd: {stiffness: 600, damping: 30}}
      - {joint: ".*(shoulder|elbow).*", pd: {stiffness: 40, damping: 2}}
)",
                      Square("humanoid", count));
}

std::vector<TableLine> Table() {
  return {
      {"arch", "parabolic_arch", {}, 0, 1, 20, 134, 6, 20, 0.15, 7.75},
      {"table_pile",
       "table_pile",
       {"time_step=0.008333333333333333"},
       1.2,
       2,
       54,
       936,
       4,
       20,
       0.1,
       3.7},
      {"pneunet", "pneunet", {}, 2, 3, 1, 532, 4, 80, 0.3, 22.25},
      {"fetch_tomato", "fetch", {}, 6, 7, 29, 371, 4, 50, 0.45, 12.2},
      {"fetch_beam", "beam_insertion", {}, 5.5, 6.5, 42, 300, 6, 50, 0.2, 18.6},
      {"humanoids", Humanoids(400), {}, 0.2, 0.45, 5200, 10893, 4, 10, 0.8, 8.9},
  };
}

std::optional<World> Load(const TableLine& line, const std::vector<std::string>& method) {
  physics::SceneOptions options;
  options.method = "nonsmooth";
  options.overrides = line.overrides;
  options.overrides.push_back("sleeping=false");
  options.overrides.insert(options.overrides.end(), method.begin(), method.end());
  const physics::SceneResult result =
      line.scene.find('\n') != std::string::npos
          ? physics::LoadSceneYaml(line.scene, line.name + ".yaml", options)
          : physics::LoadSceneFile(absl::StrCat(PLIANT_SOURCE_DIR "/scenes/", line.scene, ".yaml"),
                                   options);
  for (const physics::SceneMessage& message : result.messages)
    if (message.error) std::fprintf(stderr, "%s\n", physics::Format(message).c_str());
  if (!result.ok()) return std::nullopt;
  return World(result.model);
}

struct Timed {
  std::vector<double> solve_ms, step_ms, contacts, residuals;
  int converged = 0;
};

// Steps on to the end, and notes what is to be timed.
Timed Run(const TableLine& line, World* world) {
  Timed timed;
  while (world->state().time < line.until - 1e-6) {
    const bool counts = world->state().time >= line.from - 1e-6;
    const double start = Now();
    const absl::Status status = world->Step();
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", line.name.c_str(), status.ToString().c_str());
      break;
    }
    if (!counts) continue;
    const physics::StepReport& report = world->report();
    timed.step_ms.push_back(1e3 * (Now() - start));
    timed.solve_ms.push_back(1e3 * report.phase_seconds[static_cast<int>(physics::Phase::kSolve)]);
    timed.contacts.push_back(static_cast<double>(report.contacts.size()));
    timed.residuals.push_back(report.residual);
    timed.converged += report.converged ? 1 : 0;
  }
  return timed;
}

ordered_json Times(const std::vector<double>& ms) {
  return {{"median", Quantile(ms, 0.5)}, {"p95", Quantile(ms, 0.95)}};
}

ordered_json RunLine(const TableLine& line) {
  ordered_json row{{"case", line.name}};
  std::optional<World> world =
      Load(line, {"method.nonsmooth.friction=FIXED_POINT",
                  absl::StrCat("method.nonsmooth.newton_iterations=", line.newton),
                  absl::StrCat("method.nonsmooth.linear_iterations=", line.linear),
                  "method.nonsmooth.tolerance=1e-15"});
  if (!world) return row;
  const Timed timed = Run(line, &*world);
  if (timed.step_ms.empty()) return row;
  double mean = 0;
  for (const double contacts : timed.contacts) mean += contacts / timed.contacts.size();
  const double paper = line.assembly_ms + line.solve_ms, solve = Quantile(timed.solve_ms, 0.5);
  row["newton"] = line.newton;
  row["linear"] = line.linear;
  row["contacts_min"] = Quantile(timed.contacts, 0);
  row["contacts_mean"] = mean;
  row["contacts_max"] = Quantile(timed.contacts, 1);
  row["solve_ms"] = Times(timed.solve_ms);
  row["step_ms"] = Times(timed.step_ms);
  row["residual"] = Quantile(timed.residuals, 0.5);
  row["ratio"] = solve / paper;
  const std::size_t bodies = world->model().bodies.size() - 1;
  row["bodies"] = bodies;
  row["bodies_per_second"] = bodies / (1e-3 * Quantile(timed.step_ms, 0.5));
  row["paper"] = {
      {"bodies", line.bodies}, {"contacts", line.contacts}, {"assembly_and_solve_ms", paper}};

  // the same to tolerance
  std::optional<World> cone = Load(line, {"method.nonsmooth.friction=CONE"});
  const Timed solved = Run(line, &*cone);
  if (solved.step_ms.empty()) return row;
  row["cone"] = {{"solve_ms", Times(solved.solve_ms)},
                 {"residual", Quantile(solved.residuals, 1)},
                 {"converged_fraction", solved.converged / double(solved.step_ms.size())}};
  row["cone_ms"] = Quantile(solved.solve_ms, 0.5);
  return row;
}

}  // namespace

ordered_json RunMacklin2019(const std::string& only) {
  ordered_json rows = ordered_json::array();
  for (const TableLine& line : Table()) {
    if (!only.empty() && line.name.find(only) == std::string::npos) continue;
    std::fprintf(stderr, "%s\n", line.name.c_str());
    rows.push_back(RunLine(line));
  }
  return rows;
}

}  // namespace pliant::benchmarks
