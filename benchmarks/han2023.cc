// The examples of Han et al. 2023 §VII, timed over whole runs, with the figures of its Table I
// beside ours.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include <tbb/global_control.h>

#include "benchmarks/measure.h"
#include "benchmarks/suite.h"
#include "physics/scene/scene.h"
#include "physics/world/probes.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;
using physics::Model;
using physics::World;

constexpr char kScenes[] = PLIANT_SOURCE_DIR "/scenes/";

// A line of Table I, and our target for the mean step time on one core [ms].
struct PaperFigures {
  double real_time_rate;
  int dofs;
  double constraints_mean;
  int constraints_max;
  double limit_ms;
};

struct PaperCase {
  std::string name;
  std::string scene;  // a file in scenes/, or, with a line break, the text of one
  std::vector<std::string> overrides;
  double duration;  // [s]
  std::optional<PaperFigures> paper{};
  // Further observations: after every step, and at the end.
  std::function<void(World&, ordered_json*)> observe{}, finish{};
};

double ReadProbe(const World& world, const std::string& name, int component = 0) {
  for (const physics::Probe& probe : world.model().probes) {
    if (probe.name != name) continue;
    return physics::SampleProbe(world.model(), probe, world.state(), world.report(),
                                world.model().time_step)
        .numbers.at(component);
  }
  return std::nan("");
}

// Costs and reports of the steps of a run.
class Tally {
 public:
  explicit Tally(double time_step) : time_step_(time_step) {}

  void Add(const physics::StepReport& report, double seconds) {
    ms_.push_back(1e3 * seconds);
    // SAP counts one constraint per contact and per scalar row
    constraints_.push_back(
        static_cast<double>(report.contacts.size() + report.constraint_forces.size()));
    rows_ += report.constraints;
    participating_ += report.participating;
    iterations_ += report.iterations;
    iterations_max_ = std::max(iterations_max_, report.iterations);
    newton_ += report.newton_iterations;
    converged_ += report.converged ? 1 : 0;
    stalled_ += report.stalled() ? 1 : 0;
    refactorisations_ += report.refactorisations;
    residual_ = std::max(residual_, report.residual);
    for (std::size_t p = 0; p < phases_.size(); ++p) phases_[p] += 1e3 * report.phase_seconds[p];
  }

  void WriteTo(ordered_json* row) const {
    if (ms_.empty()) return;
    const double count = static_cast<double>(ms_.size());
    (*row)["steps"] = ms_.size();
    (*row)["step_ms"] = {
        {"mean", Mean(ms_)}, {"median", Quantile(ms_, 0.5)}, {"p95", Quantile(ms_, 0.95)}};
    (*row)["mean_ms"] = Mean(ms_);
    (*row)["real_time_rate"] = 1e3 * time_step_ / Mean(ms_);
    (*row)["constraints_mean"] = Mean(constraints_);
    (*row)["constraints_max"] = Quantile(constraints_, 1);
    (*row)["constraint_rows_mean"] = rows_ / count;
    (*row)["participating_mean"] = participating_ / count;
    (*row)["iterations_mean"] = iterations_ / count;
    (*row)["iterations_max"] = iterations_max_;
    if (newton_ > 0) (*row)["newton_iterations_mean"] = newton_ / count;
    (*row)["factorisations_mean"] = refactorisations_ / count;
    (*row)["converged_fraction"] = converged_ / count;
    (*row)["stalled_fraction"] = stalled_ / count;
    (*row)["residual_max"] = residual_;
    for (std::size_t p = 0; p < phases_.size(); ++p)
      (*row)["phases_ms"][std::string(physics::kPhaseNames[p])] = phases_[p] / count;
    (*row)["by_constraints"] = CostByConstraints();
  }

 private:
  static double Mean(const std::vector<double>& x) {
    double sum = 0;
    for (const double value : x) sum += value;
    return sum / static_cast<double>(x.size());
  }

  // Mean number of constraints and median step time [ms] in each of eight equal groups of steps,
  // sorted by constraints.
  ordered_json CostByConstraints() const {
    constexpr std::size_t kParts = 8;
    std::vector<std::size_t> order(ms_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return constraints_[a] < constraints_[b];
    });
    ordered_json parts = ordered_json::array();
    for (std::size_t part = 0; part < kParts; ++part) {
      std::vector<double> ms, constraints;
      for (std::size_t i = part * order.size() / kParts; i < (part + 1) * order.size() / kParts;
           ++i) {
        ms.push_back(ms_[order[i]]);
        constraints.push_back(constraints_[order[i]]);
      }
      if (!ms.empty()) parts.push_back({Mean(constraints), Quantile(ms, 0.5)});
    }
    return parts;
  }

  double time_step_;
  std::vector<double> ms_, constraints_;
  double rows_ = 0, participating_ = 0, iterations_ = 0, newton_ = 0, converged_ = 0, stalled_ = 0;
  double refactorisations_ = 0, residual_ = 0;
  int iterations_max_ = 0;
  std::array<double, physics::kPhaseNames.size()> phases_{};
};

// Runs the same world on one thread alongside the measured one: the two alternate every few steps,
// so that both see the same machine load. Then as many single-threaded worlds as there are threads
// run in parallel. Their gain bounds what the measured world can reach, since the cores share
// memory and may be shared with other virtual machines.
class OneThread {
 public:
  OneThread(const std::shared_ptr<const Model>& model, int threads) : world_(model) {
    for (int t = 0; t < threads; ++t) side_by_side_.push_back(std::make_unique<World>(model));
  }

  // Records the time of a step of the measured world.
  void Add(double seconds) {
    beside_ms_.push_back(1e3 * seconds);
    if (beside_ms_.size() % kStretch == 0) CatchUp();
  }

  // Writes the single-threaded step time, and the median speedups of the measured world over it and
  // of the parallel worlds.
  void WriteTo(const World& other, ordered_json* row) {
    CatchUp();
    if (ms_.empty()) return;
    std::vector<double> gains;
    for (std::size_t k = 0; k < ms_.size(); ++k) gains.push_back(ms_[k] / beside_ms_[k]);
    (*row)["one_thread_ms"] = Quantile(ms_, 0.5);
    (*row)["gain"] = Quantile(gains, 0.5);
    if (!side_by_side_gains_.empty())
      (*row)["gain_side_by_side"] = Quantile(side_by_side_gains_, 0.5);
    (*row)["same_bits"] =
        world_.state().q == other.state().q && world_.state().v == other.state().v;
  }

 private:
  static constexpr std::size_t kStretch = 10;  // steps

  void CatchUp() {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
    const std::size_t from = ms_.size(), to = beside_ms_.size();
    const double alone = Step(&world_, to - from, &ms_);
    if (ms_.size() < to || from == to) return;
    std::vector<double> seconds(side_by_side_.size());
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < seconds.size(); ++t)
      threads.emplace_back(
          [&, t] { seconds[t] = Step(side_by_side_[t].get(), to - from, nullptr); });
    for (std::thread& thread : threads) thread.join();
    double gain = 0;
    for (const double of_one : seconds) gain += alone / of_one;
    side_by_side_gains_.push_back(gain);
  }

  // Takes `count` steps, or fewer if one fails. Returns the time [s] and appends that of each [ms].
  static double Step(World* world, std::size_t count, std::vector<double>* ms) {
    const double start = Now();
    for (std::size_t k = 0; k < count; ++k) {
      const double step_start = Now();
      if (!world->Step().ok()) break;
      if (ms != nullptr) ms->push_back(1e3 * (Now() - step_start));
    }
    return Now() - start;
  }

  World world_;
  std::vector<std::unique_ptr<World>> side_by_side_;
  std::vector<double> ms_, beside_ms_, side_by_side_gains_;
};

ordered_json RunPaperCase(const PaperCase& given, int max_steps, int threads) {
  ordered_json row{{"case", given.name}};
  ForgetPeakMemory();
  physics::SceneOptions options;
  options.overrides = given.overrides;
  // sleeping bodies would cost nothing, and the paper's bodies do not sleep
  options.overrides.push_back("sleeping=false");
  const bool is_text = given.scene.find('\n') != std::string::npos;
  const physics::SceneResult scene =
      is_text ? physics::LoadSceneYaml(given.scene, given.name, options)
              : physics::LoadSceneFile(kScenes + given.scene + ".yaml", options);
  if (!scene.ok()) {
    for (const auto& message : scene.messages)
      std::fprintf(stderr, "%s\n", physics::Format(message).c_str());
    row["note"] = "the scene does not load";
    return row;
  }
  World world(scene.model);
  const double h = scene.model->time_step;
  std::size_t vertices = 0, tetrahedra = 0;
  for (const physics::Body& body : scene.model->bodies) {
    if (scene.model->abilities_of(body).nodes == nullptr) continue;
    vertices += body.mesh.vertices.size();
    tetrahedra += body.mesh.tetrahedra.size();
  }
  row["dofs"] = scene.model->velocity_offsets.back();
  row["vertices"] = vertices;
  row["tetrahedra"] = tetrahedra;
  row["time_step"] = h;

  Tally tally(h);
  std::optional<OneThread> one_thread;
  if (threads > 1) one_thread.emplace(scene.model, threads);
  const int whole = static_cast<int>(std::lround(given.duration / h));
  const int steps = max_steps > 0 ? std::min(max_steps, whole) : whole;
  for (int k = 0; k < steps; ++k) {
    const double start = Now();
    const absl::Status status = world.Step();
    const double elapsed = Now() - start;
    if (!status.ok()) {
      row["note"] = absl::StrCat("stopped at ", world.state().time, " s: ", status.message());
      break;
    }
    tally.Add(world.report(), elapsed);
    if (one_thread) one_thread->Add(elapsed);
    if (given.observe) given.observe(world, &row);
  }
  tally.WriteTo(&row);
  if (one_thread) one_thread->WriteTo(world, &row);
  row["memory_mb"] = ReadPeakMemory();
  if (given.finish) given.finish(world, &row);
  if (steps < whole) row["note"] = absl::StrCat("cut short: ", steps, " of ", whole, " steps");
  if (given.paper && row.contains("mean_ms")) {
    const PaperFigures& paper = *given.paper;
    const double paper_ms = 1e3 * h / paper.real_time_rate;
    row["paper"] = {{"mean_ms", paper_ms},
                    {"real_time_rate", paper.real_time_rate},
                    {"dofs", paper.dofs},
                    {"constraints_mean", paper.constraints_mean},
                    {"constraints_max", paper.constraints_max}};
    row["paper_ms"] = paper_ms;
    row["ratio"] = paper_ms / row["mean_ms"].get<double>();
    row["limit_ms"] = paper.limit_ms;
  }
  return row;
}

// Masonry arch of §VII-B.
std::vector<PaperCase> ArchCases() {
  const auto crown = [](World& world, ordered_json* row) {
    (*row)["crown_drop"] = 59.9918547 - ReadProbe(world, "crown", 2);
  };
  PaperCase falls{"arch_friction_0.2",
                  "masonry_arch",
                  {"contact.friction=0.2"},
                  60,
                  PaperFigures{7.26, 225, 259.5, 357, 1.2},
                  {},
                  crown};
  PaperCase stands{"arch_friction_1.0",
                   "masonry_arch",
                   {},
                   600,
                   PaperFigures{6.29, 225, 320.2, 364, 1.2},
                   {},
                   crown};
  PaperCase cold = stands;
  cold.name = "arch_friction_1.0_cold_start";
  cold.overrides = {"method.convex.warm_start=false"};
  cold.duration = 60;
  cold.paper.reset();
  return {falls, stands, cold};
}

// Cylinder press of §VII-A: mesh refinement study, and cost of a step.
std::vector<PaperCase> PressCases() {
  std::vector<PaperCase> cases;
  const auto note_curve = [](World& world, ordered_json* row) {
    const double h = world.model().time_step, t = world.state().time;
    const double load = 1.4e6 * t / 500;  // [N/m]
    const double displacement = ReadProbe(world, "displacement");
    ordered_json& curve = (*row)["curve"];
    if (std::fmod(t + 1e-9, 5) < h) curve.push_back({displacement, load});
    // the two points given in the reference
    for (const auto& [at, key] :
         {std::pair{0.25e6, "displacement_at_0.25_MN"}, {1.4e6, "displacement_at_1.4_MN"}})
      if (std::abs(load - at) <= 0.51 * 1.4e6 * h / 500) (*row)[key] = displacement;
  };
  const std::string edge = "bodies[1].deformable.mesh.edge_length=";
  for (const auto& [rings, length] : {std::pair{3, 0.067}, {5, 0.04}, {8, 0.025}, {14, 0.0143}}) {
    cases.push_back({absl::StrCat("press_rings_", rings),
                     "cylinder_press",
                     {"time_step=0.1", absl::StrCat(edge, length)},
                     500,
                     {},
                     note_curve});
  }
  // the same without mean dilatation: the elements lock
  for (const auto& [rings, length] : {std::pair{3, 0.067}, {5, 0.04}, {8, 0.025}, {14, 0.0143}}) {
    cases.push_back({absl::StrCat("press_locking_rings_", rings),
                     "cylinder_press",
                     {"time_step=0.1", absl::StrCat(edge, length),
                      "bodies[1].deformable.mean_dilatation=false"},
                     500,
                     {},
                     note_curve});
  }
  // the paper's time step and mesh, with load and damping twenty times as fast
  PaperCase timed{"press",
                  "cylinder_press",
                  {"script[0].times=[0, 25]", "bodies[1].deformable.damping.beta=0.025"},
                  25,
                  PaperFigures{0.06, 3796, 248.3, 335, 25}};
  PaperCase cold = timed;
  cold.name = "press_cold_start";
  cold.overrides.push_back("method.convex.warm_start=false");
  cold.duration = 5;
  cold.paper.reset();
  cases.push_back(timed);
  cases.push_back(cold);
  return cases;
}

// Returns an observer that notes how far an object slips in a hand or gripper between times `from`
// and `to`. `place` is its position relative to the hand.
std::function<void(World&, ordered_json*)> NoteSlip(
    double from, double to, const std::function<Eigen::Vector3d(const World&)>& place) {
  return [=](World& world, ordered_json* row) {
    const double h = world.model().time_step, t = world.state().time;
    const Eigen::Vector3d p = place(world);
    if (std::abs(t - from) < h / 2) (*row)["held_at"] = {p.x(), p.y(), p.z()};
    if (std::abs(t - to) < h / 2 && row->contains("held_at")) {
      const ordered_json& held = (*row)["held_at"];
      (*row)["slip"] = (p - Eigen::Vector3d(held[0], held[1], held[2])).norm();
    }
  };
}

Eigen::Vector3d ReadPoint(const World& world, const std::string& name) {
  return {ReadProbe(world, name, 0), ReadProbe(world, name, 1), ReadProbe(world, name, 2)};
}

// Grasps of §VII-C and D.
std::vector<PaperCase> GraspCases() {
  PaperCase teddy{"teddy", "soft_bubble_teddy", {}, 18, PaperFigures{0.37, 2043, 236.5, 464, 10}};
  teddy.observe = NoteSlip(3.2, 14.2, [](const World& world) -> Eigen::Vector3d {
    return ReadPoint(world, "bear") - ReadPoint(world, "gripper");
  });
  PaperCase ball{
      "allegro_ball", "allegro_ball", {}, 15.5, PaperFigures{1.13, 410, 380.7, 863, 2.2}};
  ball.observe = NoteSlip(3, 13.9, [](const World& world) -> Eigen::Vector3d {
    const Eigen::Vector3d palm = ReadPoint(world, "palm"), d = ReadPoint(world, "ball") - palm;
    const Eigen::Vector3d x = ReadPoint(world, "palm_x") - palm,
                          z = ReadPoint(world, "palm_z") - palm;
    return {d.dot(x), d.dot(z.cross(x)), d.dot(z)};
  });
  return {teddy, ball};
}

// Bending bar of §VII-E: its shape after one second, seen from the side.
std::vector<PaperCase> BarCases() {
  std::vector<PaperCase> cases;
  const auto note_shape = [](World& world, ordered_json* row) {
    const auto& q = world.state().q;
    const physics::TetrahedralMesh& mesh = world.model().bodies[0].mesh;
    Eigen::Vector3d tip = Eigen::Vector3d::Zero();
    int count = 0;
    ordered_json triangles = ordered_json::array();
    const auto is_side = [&](int i) { return mesh.vertices[i].y() < -0.05 + 1e-9; };
    for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
      if (mesh.vertices[i].x() < 0.5 - 1e-9) continue;
      tip += Eigen::Vector3d(q[3 * i], q[3 * i + 1], q[3 * i + 2]);
      ++count;
    }
    for (const std::array<int, 4>& t : mesh.tetrahedra) {
      std::vector<int> face;
      for (const int i : t)
        if (is_side(i)) face.push_back(i);
      if (face.size() != 3) continue;
      ordered_json corners = ordered_json::array();
      for (const int i : face) corners.push_back({q[3 * i], q[3 * i + 2]});
      triangles.push_back(corners);
    }
    tip /= count;
    (*row)["tip"] = {tip.x(), tip.y(), tip.z()};
    (*row)["volume_ratio"] = ReadProbe(world, "volume") / 0.01;
    (*row)["shape"] = triangles;
  };
  for (const auto& [modulus, label] : {std::pair{"1e5", "bar"}, {"5e5", "stiff_bar"}}) {
    for (const auto& [step, name] : {std::pair{"1", "1s"}, {"0.1", "100ms"}, {"0.01", "10ms"}}) {
      for (const auto& [model, kind] :
           {std::pair{"LINEAR_COROTATIONAL", "lagged"}, {"COROTATIONAL", "classical"}}) {
        cases.push_back({absl::StrCat(label, "_", kind, "_", name),
                         "bending_bar",
                         {absl::StrCat("time_step=", step),
                          absl::StrCat("bodies[0].deformable.material.model=", model),
                          absl::StrCat("bodies[0].deformable.material.youngs_modulus=", modulus),
                          "bodies[0].deformable.newton.projection=false"},
                         1,
                         {},
                         {},
                         note_shape});
      }
    }
  }
  return cases;
}

// Adds the distance between the bar tips of the two materials at steps of 100 ms and 10 ms, and the
// factor by which it falls.
void AddBarAgreement(const std::string& label, ordered_json* rows) {
  const auto tip = [&](const std::string& name) -> std::optional<Eigen::Vector3d> {
    for (const ordered_json& row : *rows) {
      if (row.at("case") == name && row.contains("tip"))
        return Eigen::Vector3d(row["tip"][0], row["tip"][1], row["tip"][2]);
    }
    return std::nullopt;
  };
  const auto a = tip(label + "_lagged_100ms"), b = tip(label + "_classical_100ms");
  const auto c = tip(label + "_lagged_10ms"), d = tip(label + "_classical_10ms");
  if (!a || !b || !c || !d) return;
  rows->push_back({{"case", label + "_agreement"},
                   {"tips_apart_100ms", (*a - *b).norm()},
                   {"tips_apart_10ms", (*c - *d).norm()},
                   {"falls_by", (*a - *b).norm() / (*c - *d).norm()}});
}

// Contacts on polygons, as in the paper, or on vertices, which are fewer.
constexpr char kPolygons[] = "{patches: POLYGONS, patch_divisions: 2}";
constexpr char kVertices[] = "{patches: VERTICES}";

// Scene of §VII-F: a chain of `links` links like those of scenes/chain.yaml.
std::string MakeChain(int links, const std::string& mesh, const std::string& contact) {
  std::string yaml = absl::StrCat(R"(
name: chain
time_step: 0.02
contact: )",
                                  contact, R"(
bodies:
  - {name: hook, rigid: {motion: FIXED, shapes: [{mesh: {file: ")",
                                  kScenes, R"(meshes/chain/hook.obj"}}]}}
  - name: link
    template: true
    deformable:
      mesh: )",
                                  mesh, R"(
      material: {model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e7, poissons_ratio: 0.4,
          density: 500}
      damping: {beta: 0.05}
instances:
  - of: link
    poses:
)");
  for (int i = 1; i <= links; ++i) {
    absl::StrAppend(&yaml, "      - {position: [0, 0, ", -0.51 * i, "], rpy_degrees: [90, 0, ",
                    90 * (i % 2), "]}\n");
  }
  return yaml;
}

std::string TorusMesh(double edge_length, int slices) {
  return absl::StrCat("{torus: {ring_radius: 0.4, tube_radius: 0.1, slices: ", slices,
                      "}, edge_length: ", edge_length, "}");
}

std::vector<PaperCase> ChainCases() {
  std::vector<PaperCase> cases;
  for (const int links : {1, 2, 5, 10, 20, 50, 100}) {
    PaperCase chain{
        absl::StrCat("chain_", links), MakeChain(links, TorusMesh(0.1, 42), kPolygons), {}, 10};
    chain.finish = [links](World&, ordered_json* row) { (*row)["links"] = links; };
    cases.push_back(chain);
  }
  // the longest chain runs for the paper's whole minute
  const PaperFigures paper{0.020, 90000, 3880.2, 5663, 60};
  cases.back().duration = 60;
  cases.back().paper = paper;
  cases.push_back(
      {"chain_100_vertices", MakeChain(100, TorusMesh(0.1, 42), kVertices), {}, 60, paper});
  return cases;
}

std::vector<PaperCase> TorusCases() {
  std::vector<PaperCase> cases;
  // 7, 19 and 37 vertices per disc
  const std::vector<std::pair<double, int>> meshes = {
      {0.1, 42}, {0.05, 40}, {0.05, 80}, {0.0333, 80}, {0.0333, 140}, {0.0333, 200}, {0.0333, 260}};
  for (const auto& [edge_length, slices] : meshes) {
    const int dofs = 3 * slices * (edge_length > 0.09 ? 7 : edge_length > 0.04 ? 19 : 37);
    PaperCase torus{absl::StrCat("torus_", dofs),
                    MakeChain(1, TorusMesh(edge_length, slices), kPolygons),
                    {},
                    10};
    if (slices == 260) torus.paper = PaperFigures{0.017, 28800, 53.0, 394, 65};
    cases.push_back(torus);
  }
  return cases;
}

// Exponent of a power law through (x, y), by least squares on the logarithms.
double FitPower(const std::vector<double>& x, const std::vector<double>& y) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const double n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = std::log(x[i]), b = std::log(y[i]);
    sx += a, sy += b, sxx += a * a, sxy += a * b;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

// Adds the exponent with which the median step time grows with `by`, over the rows whose names
// start with `prefix`.
void AddSlope(const std::string& prefix, const std::string& by, ordered_json* rows) {
  std::vector<double> x, y;
  for (const ordered_json& row : *rows) {
    if (!row.at("case").get<std::string>().starts_with(prefix) || !row.contains(by) ||
        !row.contains("step_ms"))
      continue;
    x.push_back(row.at(by));
    y.push_back(row.at("step_ms").at("median"));
  }
  if (x.size() > 2)
    rows->push_back({{"case", prefix + "growth"}, {"log_log_slope", FitPower(x, y)}, {"by", by}});
}

}  // namespace

ordered_json RunHan2023(const std::string& only, int max_steps, int threads) {
  ordered_json rows = ordered_json::array();
  for (const auto& make : {PressCases, ArchCases, GraspCases, BarCases, ChainCases, TorusCases}) {
    for (const PaperCase& given : make()) {
      if (given.name.find(only) == std::string::npos) continue;
      std::fprintf(stderr, "running %s …\n", given.name.c_str());
      rows.push_back(RunPaperCase(given, max_steps, threads));
    }
  }
  AddBarAgreement("bar", &rows);
  AddBarAgreement("stiff_bar", &rows);
  AddSlope("chain_", "links", &rows);
  AddSlope("torus_", "dofs", &rows);
  return rows;
}

}  // namespace pliant::benchmarks
