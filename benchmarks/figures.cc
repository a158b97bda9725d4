// Data for the figures of two papers: residuals of single steps that are taken from the same state
// in several ways (Macklin et al. 2019, Figs. 11, 12, 16, 17, 18), and the error of a grip that
// turns fast, against iterations (Zeng et al. 2022, §5). benchmarks/plots/macklin2019.py and
// zeng2022.py draw them.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "benchmarks/suite.h"
#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;
using physics::Model;
using physics::StepReport;
using physics::World;
using Overrides = std::vector<std::string>;

constexpr char kPaperTimeStep[] = "time_step=0.008333333333333333";

// One way to take a step: its label, and the scene overrides that select it.
struct Way {
  std::string name;
  Overrides overrides;
};

// Loads a shipped scene, or the text of one if `scene` has a line break. Null if that fails.
std::shared_ptr<const Model> LoadFigure(const std::string& scene, const std::string& method,
                                        const Overrides& overrides) {
  physics::SceneOptions options;
  options.method = method;
  options.overrides = overrides;
  const physics::SceneResult result =
      scene.find('\n') != std::string::npos
          ? physics::LoadSceneYaml(scene, "scene.yaml", options)
          : physics::LoadSceneFile(absl::StrCat(PLIANT_SOURCE_DIR "/scenes/", scene, ".yaml"),
                                   options);
  for (const physics::SceneMessage& message : result.messages)
    if (message.error) std::fprintf(stderr, "%s\n", physics::Format(message).c_str());
  return result.ok() ? result.model : nullptr;
}

bool RunTo(double t, World* world) {
  while (world->state().time < t - 1e-6 * world->model().time_step)
    if (!world->Step().ok()) return false;
  return true;
}

// Takes one step from the state of `world` with another model of the same scene. `world` stays
// unchanged.
StepReport StepFrom(const World& world, const Model& model) {
  physics::State state = world.state();
  StepReport report;
  const absl::Status status = physics::MakeStepper(model)->Step(world.CalcScriptedInputs(),
                                                                model.time_step, &state, &report);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return report;
}

// Options for solving a step as in the paper: friction by fixed point, from zero forces.
Overrides AsThePaper(int newton, int linear, const Overrides& more) {
  Overrides all{"sleeping=false",
                "method.nonsmooth.friction=FIXED_POINT",
                "method.nonsmooth.warm_start=false",
                "method.nonsmooth.tolerance=1e-15",
                absl::StrCat("method.nonsmooth.newton_iterations=", newton),
                absl::StrCat("method.nonsmooth.linear_iterations=", linear)};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Scene and time at which a figure's steps are taken.
struct Place {
  std::string name, scene;
  double time;  // of the first compared step [s]
  Overrides overrides;
};

std::vector<Place> Places() {
  return {{"arch", "parabolic_arch", 0.5, {}},
          {"pile", "table_pile", 3, {kPaperTimeStep, "contact.margin=0.02"}},
          {"stack", "heavy_stack", 0, {kPaperTimeStep, "gravity=[1, 0.5, -9.81]"}},
          {"beam", "beam_insertion", 5, {}}};
}

const std::vector<Way>& Preconditioners() {
  static const auto* ways =
      new std::vector<Way>{{"identity", {"method.nonsmooth.preconditioner=IDENTITY"}},
                           {"time step", {"method.nonsmooth.preconditioner=TIME_STEP"}},
                           {"effective mass", {"method.nonsmooth.preconditioner=EFFECTIVE_MASS"}}};
  return *ways;
}

const std::vector<Way>& LinearSolvers() {
  static const auto* ways =
      new std::vector<Way>{{"Jacobi", {"method.nonsmooth.linear_solver=JACOBI"}},
                           {"Gauss-Seidel", {"method.nonsmooth.linear_solver=GAUSS_SEIDEL"}},
                           {"PCG", {"method.nonsmooth.linear_solver=PCG"}},
                           {"PCR", {"method.nonsmooth.linear_solver=PCR"}},
                           {"direct", {"method.nonsmooth.linear_solver=DIRECT"}}};
  return *ways;
}

// Returns the world at a place, reached with exact friction cones; null on failure.
std::unique_ptr<World> Arrive(const Place& place) {
  Overrides overrides{"sleeping=false", "method.nonsmooth.friction=CONE"};
  overrides.insert(overrides.end(), place.overrides.begin(), place.overrides.end());
  const auto model = LoadFigure(place.scene, "nonsmooth", overrides);
  if (model == nullptr) return nullptr;
  auto world = std::make_unique<World>(model);
  if (!RunTo(place.time, world.get())) return nullptr;
  return world;
}

ordered_json MakeRow(const std::string& figure, const std::string& place, const Way& way) {
  return {{"case", absl::StrCat(figure, "_", place, " ", way.name)},
          {"figure", figure},
          {"place", place},
          {"way", way.name}};
}

void AddCurve(const std::vector<double>& residuals, ordered_json* row) {
  (*row)["residuals"] = residuals;
  if (residuals.empty()) return;
  (*row)["first"] = residuals.front();
  (*row)["least"] = *std::min_element(residuals.begin(), residuals.end());
  (*row)["iterations"] = residuals.size() - 1;
}

// Takes the step at each place in each way. Records the residual after each Newton iteration, or
// that of the first linear system after each linear iteration.
void CompareWays(const std::string& figure, const std::vector<std::string>& places,
                 const std::vector<Way>& ways, bool is_linear, int newton, int linear,
                 const std::string& only, ordered_json* rows) {
  for (const Place& place : Places()) {
    if (std::find(places.begin(), places.end(), place.name) == places.end()) continue;
    if (absl::StrCat(figure, "_", place.name).find(only) == std::string::npos) continue;
    std::fprintf(stderr, "%s_%s\n", figure.c_str(), place.name.c_str());
    const auto world = Arrive(place);
    if (world == nullptr) continue;
    for (const Way& way : ways) {
      Overrides overrides = AsThePaper(newton, linear, way.overrides);
      overrides.insert(overrides.end(), place.overrides.begin(), place.overrides.end());
      const auto model = LoadFigure(place.scene, "nonsmooth", overrides);
      if (model == nullptr) continue;
      const StepReport report = StepFrom(*world, *model);
      ordered_json row = MakeRow(figure, place.name, way);
      row["contacts"] = report.contacts.size();
      AddCurve(is_linear ? report.linear_residuals : report.iteration_residuals, &row);
      rows->push_back(row);
    }
  }
}

// Quartiles over many steps, per iteration, of the smallest residual so far. A step that ended
// there would keep it.
ordered_json CalcQuartiles(std::vector<std::vector<double>> steps) {
  std::size_t longest = 0;
  for (auto& step : steps) {
    for (std::size_t k = 1; k < step.size(); ++k) step[k] = std::min(step[k], step[k - 1]);
    longest = std::max(longest, step.size());
  }
  ordered_json quartiles = ordered_json::array();
  for (std::size_t k = 0; k < longest; ++k) {
    std::vector<double> at;
    for (const auto& step : steps)
      if (!step.empty()) at.push_back(step[std::min(k, step.size() - 1)]);
    quartiles.push_back({Quantile(at, 0.25), Quantile(at, 0.5), Quantile(at, 0.75)});
  }
  return quartiles;
}

// Takes one step in every way from each of `steps` states of a running world, `stride` steps apart.
void CompareOverRun(const std::string& figure, const std::string& place, World* world,
                    const std::string& scene, const std::vector<Way>& ways, int steps, int stride,
                    ordered_json* rows) {
  std::vector<std::shared_ptr<const Model>> models;
  for (const Way& way : ways) {
    models.push_back(LoadFigure(scene, "nonsmooth", way.overrides));
    if (models.back() == nullptr) return;
  }
  std::vector<std::vector<std::vector<double>>> residuals(ways.size());
  std::vector<int> converged(ways.size());
  for (int step = 0; step < steps; ++step) {
    for (std::size_t k = 0; k < ways.size(); ++k) {
      const StepReport report = StepFrom(*world, *models[k]);
      residuals[k].push_back(report.iteration_residuals);
      converged[k] += report.residual < 1e-6;
    }
    for (int k = 0; k < stride; ++k)
      if (!world->Step().ok()) return;
  }
  for (std::size_t k = 0; k < ways.size(); ++k) {
    ordered_json row = MakeRow(figure, place, ways[k]);
    row["quartiles"] = CalcQuartiles(residuals[k]);
    row["steps"] = steps;
    row["within_1e-6"] = converged[k] / static_cast<double>(steps);
    row["median_at_the_end"] = row["quartiles"].back()[1];
    rows->push_back(row);
  }
}

// Figure 12: a light bar, held at both ends, is stretched to three times its length and shaken
// sideways.
constexpr char kStretchedBar[] = R"(
time_step: 0.008
bodies:
  - {name: hand, rigid: {motion: KINEMATIC, pose: {position: [0.42, 0, 1]},
      shapes: [{box: {size: [0.04, 0.2, 0.2]}}]}}
  - name: bar
    deformable:
      mesh: {box: {size: [0.8, 0.1, 0.1]}, edge_length: 0.1}
      pose: {position: [0, 0, 1]}
      material: {model: NEO_HOOKEAN, youngs_modulus: 1.0e6, poissons_ratio: 0.45, density: 300}
      damping: {beta: 0}
      attachments:
        - {to: world, within: {box: {size: [0.01, 1, 1], pose: {position: [-0.4, 0, 0]}}}}
        - {to: hand, within: {box: {size: [0.01, 1, 1], pose: {position: [0.4, 0, 0]}}}}
pairs: [{bodies: [hand, bar], enabled: false}]
script:
  - {target: {pose: hand}, times: [0, 0.2, 0.25, 0.3, 0.35, 0.4], values: [[0.42, 0, 1], [2, 0, 1],
      [2, 0.1, 1], [2, -0.1, 1], [2, 0.1, 1], [2, 0, 1]]}
)";

void StretchBar(ordered_json* rows) {
  const Overrides maximal{"method.nonsmooth.coordinates=MAXIMAL",
                          "method.nonsmooth.linear_solver=DIRECT"};
  Overrides exact = maximal, few = maximal;
  exact.insert(exact.end(),
               {"method.nonsmooth.newton_iterations=200", "method.nonsmooth.tolerance=1e-9"});
  few.insert(few.end(),
             {"method.nonsmooth.newton_iterations=60", "method.nonsmooth.tolerance=1e-12"});
  const auto model = LoadFigure(kStretchedBar, "nonsmooth", exact);
  if (model == nullptr) return;
  World world(model);
  // here the bar is fully stretched and the shaking begins
  if (!RunTo(0.2, &world)) return;
  Way without{"without geometric stiffness", few}, with{"with geometric stiffness", few};
  without.overrides.push_back("method.nonsmooth.geometric_stiffness=false");
  with.overrides.push_back("method.nonsmooth.geometric_stiffness=true");
  CompareOverRun("stiffness", "bar", &world, kStretchedBar, {without, with}, 25, 1, rows);
}

// Figure 16: the beam on its way into the slot.
void InsertBeam(ordered_json* rows) {
  const auto world = Arrive({"beam", "beam_insertion", 1.5, {}});
  if (world == nullptr) return;
  std::vector<Way> ways{Preconditioners()[0], Preconditioners()[2]};
  for (Way& way : ways) way.overrides = AsThePaper(100, 40, way.overrides);
  CompareOverRun("quartiles", "beam", world.get(), "beam_insertion", ways, 132, 5, rows);
}

std::vector<double> ReadVectorProbe(const World& world, const std::string& name) {
  for (const physics::Probe& probe : world.model().probes) {
    if (probe.name == name)
      return SampleProbe(world.model(), probe, world.state(), world.report(),
                         world.model().time_step)
          .numbers;
  }
  return {0, 0, 0};
}

// A grip that turns by 18° per step: largest and mean relative error of the pads' 10 N over the ten
// steps in which the grip turns and holds.
void TurnGrip(ordered_json* rows) {
  constexpr double kGrip = 10;  // [N]
  for (const std::string scheme : {"FAST", "STANDARD", "SINGLE"}) {
    for (const int sweeps : {30, 300}) {
      ordered_json row = MakeRow("grip", absl::StrCat(sweeps), {scheme, {}});
      ordered_json iterations = ordered_json::array(), worst = ordered_json::array(),
                   mean = ordered_json::array();
      for (const int recursions : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16}) {
        // the single linearisation gets the same total number of sweeps
        const bool is_single = scheme == "SINGLE";
        const auto model = LoadFigure(
            "turned_grip", "corrective",
            {"method.corrective.scheme=" + scheme, "method.corrective.tolerance=1e-15",
             absl::StrCat("method.corrective.recursions=", is_single ? 1 : recursions),
             absl::StrCat("method.corrective.sweeps=", is_single ? sweeps * recursions : sweeps)});
        if (model == nullptr) return;
        World world(model);
        double largest = 0, sum = 0;
        for (int step = 1; step <= 12; ++step) {
          if (!world.Step().ok()) break;
          if (step <= 2) continue;
          for (const char* pad : {"left", "right"}) {
            const std::vector<double> f = ReadVectorProbe(world, pad);
            const double error =
                std::abs(std::sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]) - kGrip) / kGrip;
            largest = std::max(largest, error);
            sum += error / 20;
          }
        }
        iterations.push_back(recursions);
        worst.push_back(largest);
        mean.push_back(sum);
      }
      row["iterations"] = iterations;
      row["worst_error"] = worst;
      row["mean_error"] = mean;
      row["error_at_5"] = worst[4];
      row["error_at_16"] = worst.back();
      rows->push_back(row);
    }
  }
}

}  // namespace

ordered_json RunFigures(const std::string& only) {
  ordered_json rows = ordered_json::array();
  const auto is_wanted = [&](const std::string& name) {
    return name.find(only) != std::string::npos;
  };
  CompareWays("linear", {"arch", "stack", "beam"}, LinearSolvers(), true, 1, 200, only, &rows);
  CompareWays("newton", {"arch", "stack", "beam"}, LinearSolvers(), false, 60, 40, only, &rows);
  CompareWays("preconditioner", {"arch", "pile", "stack"}, Preconditioners(), false, 100, 40, only,
              &rows);
  if (is_wanted("stiffness_bar")) StretchBar(&rows);
  if (is_wanted("quartiles_beam")) InsertBeam(&rows);
  if (is_wanted("grip")) TurnGrip(&rows);
  return rows;
}

}  // namespace pliant::benchmarks
