// The examples of Macklin et al. 2019 at the iteration counts of its Table 2, without early exit or
// sleeping: times beside those of the table, and residuals beside those of the plain method. Also
// the same steps solved to tolerance with exact friction cones, and bodies per second for several
// thread counts.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <tbb/global_control.h>

#include "benchmarks/measure.h"
#include "benchmarks/plain_newton.h"
#include "benchmarks/suite.h"
#include "physics/contact/contact_detection.h"
#include "physics/dynamics/body_motions.h"
#include "physics/scene/scene.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;
using physics::World;

// Approximate number of timed steps in which residuals are compared.
constexpr int kCompared = 20;
// Rounding level, added to both residuals.
constexpr double kRounding = 1e-13;  // [m]

// A line of Table 2.
struct TableLine {
  std::string name;
  std::string scene;  // a file in scenes/, or, with a line break, the text of one
  std::vector<std::string> overrides{};
  double from, until;  // timed interval [s]
  int bodies, contacts;
  int newton, linear;  // iterations
  double assembly_ms, solve_ms;
  bool scales = false;  // timed for several thread counts
  // Solve to tolerance until `from`: with few iterations the first impact throws the held object.
  bool is_settled = false;
  // Contact margin and subdivisions of contact polygons. Nonzero values were chosen to match the
  // number of contacts in the paper.
  double margin = 0;  // [m]
  int patch_divisions = 0;
};

// Poses on a square grid two metres apart, all with the same offset and rotation.
std::string Square(int count, double x, double y, double z, const std::string& turn) {
  std::string text = "    poses:\n";
  const int side = static_cast<int>(std::ceil(std::sqrt(count)));
  for (int k = 0; k < count; ++k)
    absl::StrAppend(&text, "      - {position: [", 2 * (k % side) + x, ", ", 2 * (k / side) + y,
                    ", ", z, "]", turn, "}\n");
  return text;
}

// Humanoids with seventeen joints and thirteen bodies each, under PD control.
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
      - joint: "(abdomen|right_hip|left_hip|right_knee|left_knee).*"
        pd: {stiffness: 600, damping: 30}
      - {joint: ".*(shoulder|elbow).*", pd: {stiffness: 40, damping: 2}}
instances:
  - of: humanoid
)",
                      Square(count, 0, 0, 0.03, ""));
}

// Pairs of an arm and a cabinet, as in scenes/yumi_cabinet.yaml when the drawer is pulled.
std::string Yumis(int count) {
  std::string text =
      absl::StrCat(R"(
name: yumis
time_step: 0.008333333333333333
contact: {friction: 0.9}
bodies:
  - {name: floor, rigid: {motion: FIXED, shapes: [{half_space: {}}]}}
robots:
  - name: yumi
    template: true
    file: )",
                   PLIANT_SOURCE_DIR, R"(/scenes/robots/yumi_right.urdf
    joint_positions: {yumi_joint_1_r: 1.4272, yumi_joint_2_r: -1.5412, yumi_joint_7_r: -1.2819,
                      yumi_joint_3_r: 0.8243, yumi_joint_4_r: -0.7872, yumi_joint_5_r: -1.0474,
                      yumi_joint_6_r: -1.7144, finger_a_joint_r: 0.024, finger_b_joint_r: 0.024}
    actuators:
      - joint: "yumi_joint_[1237]_r"
        pd: {stiffness: 1000, damping: 20, gravity_compensation: true}
      - joint: "yumi_joint_[456]_r"
        pd: {stiffness: 200, damping: 3, gravity_compensation: true}
    controllers:
      - {name: gripper, gripper: {joints: [finger_a_joint_r], max_force: 20}}
  - name: cabinet
    template: true
    file: )",
                   PLIANT_SOURCE_DIR, R"(/scenes/robots/cabinet.sdf
instances:
  - of: yumi
)",
                   Square(count, 0, 0, 0.42, ""), "  - of: cabinet\n",
                   Square(count, 0.8568, -0.12, 0.381, ", rpy_degrees: [0, 0, 180]"), "script:\n");
  // close the gripper on the handle, then pull
  const struct {
    const char* joint;
    double values[3];
  } moves[] = {{"yumi_joint_1_r", {1.4272, 1.3152, 1.1853}},
               {"yumi_joint_2_r", {-1.5412, -1.6371, -1.7246}},
               {"yumi_joint_7_r", {-1.2819, -1.4381, -1.6659}},
               {"yumi_joint_3_r", {0.8243, 0.9958, 1.1167}},
               {"yumi_joint_4_r", {-0.7872, -0.9483, -1.1873}},
               {"yumi_joint_5_r", {-1.0474, -1.1038, -1.1256}},
               {"yumi_joint_6_r", {-1.7144, -1.7217, -1.6949}}};
  for (int k = 0; k < count; ++k) {
    for (const auto& move : moves)
      absl::StrAppend(&text, "  - {target: {joint: yumi_", k, "/", move.joint,
                      "}, times: [0.7, 1.3, 1.9], values: [", move.values[0], ", ", move.values[1],
                      ", ", move.values[2], "]}\n");
    absl::StrAppend(&text, "  - {target: {gripper: yumi_", k,
                    "/gripper}, times: [0, 0.5], values: [0.024, 0]}\n");
  }
  return text;
}

std::vector<TableLine> Table() {
  return {
      {.name = "allegro_adversary",
       .scene = "allegro_adversary",
       .from = 1,
       .until = 2,
       .bodies = 21,
       .contacts = 104,
       .newton = 8,
       .linear = 20,
       .assembly_ms = 0.4,
       .solve_ms = 10.0,
       .is_settled = true,
       .margin = 0.008},
      {.name = "allegro_ball",
       .scene = "allegro_grasp",
       .from = 1.1,
       .until = 1.32,
       .bodies = 21,
       .contacts = 409,
       .newton = 6,
       .linear = 50,
       .assembly_ms = 0.35,
       .solve_ms = 11.4,
       .is_settled = true},
      {.name = "pneunet",
       .scene = "pneunet",
       .from = 2,
       .until = 3,
       .bodies = 1,
       .contacts = 532,
       .newton = 4,
       .linear = 80,
       .assembly_ms = 0.3,
       .solve_ms = 22.25,
       .margin = 0.015,
       .patch_divisions = 2},
      {.name = "fetch_tomato",
       .scene = "fetch",
       .from = 6,
       .until = 7,
       .bodies = 29,
       .contacts = 371,
       .newton = 4,
       .linear = 50,
       .assembly_ms = 0.45,
       .solve_ms = 12.2,
       .is_settled = true,
       .margin = 0.01,
       .patch_divisions = 2},
      {.name = "fetch_beam",
       .scene = "beam_insertion",
       .from = 3.5,
       .until = 4.5,
       .bodies = 42,
       .contacts = 300,
       .newton = 6,
       .linear = 50,
       .assembly_ms = 0.2,
       .solve_ms = 18.6,
       .is_settled = true,
       .margin = 0.14},
      {.name = "arch",
       .scene = "parabolic_arch",
       .from = 0,
       .until = 1,
       .bodies = 20,
       .contacts = 134,
       .newton = 6,
       .linear = 20,
       .assembly_ms = 0.15,
       .solve_ms = 7.75},
      {.name = "table_pile",
       .scene = "table_pile",
       .overrides = {"time_step=0.008333333333333333"},
       .from = 2.5,
       .until = 3.5,
       .bodies = 54,
       .contacts = 936,
       .newton = 4,
       .linear = 20,
       .assembly_ms = 0.1,
       .solve_ms = 3.7,
       .margin = 0.05},
      {.name = "humanoids",
       .scene = Humanoids(400),
       .from = 0.2,
       .until = 0.45,
       .bodies = 5200,
       .contacts = 10893,
       .newton = 4,
       .linear = 10,
       .assembly_ms = 0.8,
       .solve_ms = 8.9,
       .scales = true,
       .margin = 0.1},
      {.name = "yumi_cabinets",
       .scene = Yumis(400),
       .from = 0.9,
       .until = 1.1,
       .bodies = 6400,
       .contacts = 4082,
       .newton = 5,
       .linear = 25,
       .assembly_ms = 1.8,
       .solve_ms = 56.0,
       .scales = true},
  };
}

std::optional<World> Load(const TableLine& line, const std::vector<std::string>& method) {
  physics::SceneOptions options;
  options.method = "nonsmooth";
  options.overrides = line.overrides;
  options.overrides.push_back("sleeping=false");
  if (line.margin > 0) options.overrides.push_back(absl::StrCat("contact.margin=", line.margin));
  if (line.patch_divisions > 0) {
    options.overrides.push_back("contact.patches=POLYGONS");
    options.overrides.push_back(absl::StrCat("contact.patch_divisions=", line.patch_divisions));
  }
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

// Measurements in the timed interval.
struct Timed {
  std::vector<double> pose_ms, solve_ms, step_ms, contacts, residuals;
  std::vector<double> check_ms;           // residual of the momentum balance, outside the solver
  std::vector<double> detection_ms;       // contact detection, a part of pose_ms
  std::vector<double> cpu_ms;             // CPU time of this thread
  std::vector<double> plain, over_plain;  // residuals of the plain method; ours divided by them
  double constraints = 0, participating = 0;
  int converged = 0;
};

// Times contact detection for each state in turn [ms]. As in a step, the detector has already seen
// the previous state.
std::vector<double> TimeDetection(const physics::Model& model,
                                  const std::vector<physics::State>& states) {
  physics::ContactDetector detector(model);
  physics::BodyMotions motions(model);
  std::vector<physics::ContactPoint> contacts;
  std::vector<double> ms;
  for (const physics::State& state : states) {
    motions.Update(state);
    const double start = Now();
    const absl::Status status = detector.Detect(state, motions, model.time_step, &contacts);
    ms.push_back(1e3 * (Now() - start));
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  }
  return ms;
}

// Steps to the end of the timed interval and records the measurements. About `compared` of the
// timed steps are compared with the plain method.
Timed Run(const TableLine& line, int compared, World* world) {
  Timed timed;
  const double h = world->model().time_step;
  const int count = static_cast<int>(std::lround((line.until - line.from) / h));
  const int stride = compared > 0 ? std::max(2, count / compared) : 0;
  physics::ContactProblem problem;
  std::vector<physics::State> states;
  while (world->state().time < line.until - 1e-6) {
    const bool counts = world->state().time >= line.from - 1e-6;
    const bool is_compared =
        counts && stride > 0 && static_cast<int>(timed.solve_ms.size()) % stride == 0;
    if (counts) states.push_back(world->state());
    // recording the problem takes extra time, so step_ms leaves these steps out
    world->Describe(is_compared ? &problem : nullptr);
    const double start = ThreadNow();
    const absl::Status status = world->Step();
    const double cpu = ThreadNow() - start;
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", line.name.c_str(), status.ToString().c_str());
      break;
    }
    if (!counts) continue;
    const physics::StepReport& report = world->report();
    const auto phase = [&](physics::Phase p) {
      return 1e3 * report.phase_seconds[static_cast<int>(p)];
    };
    timed.pose_ms.push_back(phase(physics::Phase::kPose));
    timed.solve_ms.push_back(phase(physics::Phase::kSolve));
    timed.check_ms.push_back(phase(physics::Phase::kCheck));
    if (!is_compared) {
      timed.step_ms.push_back(1e3 * report.seconds);
      timed.cpu_ms.push_back(1e3 * cpu);
    }
    timed.contacts.push_back(static_cast<double>(report.contacts.size()));
    timed.residuals.push_back(report.residual);
    timed.converged += report.converged ? 1 : 0;
    timed.constraints += report.constraints / double(count);
    timed.participating += report.participating / double(count);
    if (!is_compared || problem.contacts.empty()) continue;
    const PlainComparison residual = CompareWithPlainNewton(problem, line.newton, line.linear);
    timed.plain.push_back(residual.plain);
    timed.over_plain.push_back((residual.ours + kRounding) / (residual.plain + kRounding));
  }
  timed.detection_ms = TimeDetection(world->model(), states);
  return timed;
}

ordered_json Times(const std::vector<double>& ms) {
  return {{"median", Quantile(ms, 0.5)}, {"p95", Quantile(ms, 0.95)}};
}

std::vector<std::string> Budget(const TableLine& line) {
  return {"method.nonsmooth.friction=FIXED_POINT",
          absl::StrCat("method.nonsmooth.newton_iterations=", line.newton),
          absl::StrCat("method.nonsmooth.linear_iterations=", line.linear),
          "method.nonsmooth.tolerance=1e-100"};
}

// Steps the world `exact`, which is solved to tolerance, to the start of the timed interval and
// copies its state to `world`. False on failure.
bool Settle(const TableLine& line, World* exact, World* world) {
  while (exact->state().time < line.from - 1e-6)
    if (!exact->Step().ok()) return false;
  return world->Restore(SerializeState(exact->state(), world->model().hash)).ok();
}

ordered_json RunLine(const TableLine& line, int threads) {
  ordered_json row{{"case", line.name}};
  std::optional<World> world = Load(line, Budget(line));
  if (!world) return row;
  // the same scene solved to tolerance
  std::optional<World> cone =
      line.scales ? std::nullopt : Load(line, {"method.nonsmooth.friction=CONE"});
  if (line.is_settled && !Settle(line, &*cone, &*world)) return row;
  const Timed timed = Run(line, line.scales ? 0 : kCompared, &*world);
  if (timed.step_ms.empty()) return row;
  const double paper = line.assembly_ms + line.solve_ms;
  const double pose = Quantile(timed.pose_ms, 0.5), detection = Quantile(timed.detection_ms, 0.5);
  const double solve = Quantile(timed.solve_ms, 0.5), step = Quantile(timed.step_ms, 0.5);
  // the paper's time includes momentum, rows and factors of the bodies, but not detection
  const double bodies_ms = std::max(0.0, pose - detection);
  std::size_t bodies = 0;
  for (const physics::Body& body : world->model().bodies)
    bodies += world->model().abilities_of(body).nodes != nullptr ||
                      (body.mass > 0 && body.block != physics::kWorldBlock)
                  ? 1
                  : 0;
  row["bodies"] = bodies;
  row["dofs"] = world->model().velocity_offsets.back();
  row["participating"] = timed.participating;
  row["rows"] = timed.constraints;
  row["h"] = world->model().time_step;
  row["margin_mm"] = 1e3 * world->model().contact.margin;
  row["margin_is_chosen_for_contacts"] = line.margin > 0;
  row["patch_divisions_chosen_for_contacts"] = line.patch_divisions;
  row["newton"] = line.newton;
  row["linear"] = line.linear;
  row["contacts_min"] = Quantile(timed.contacts, 0);
  row["contacts_median"] = Quantile(timed.contacts, 0.5);
  row["pose_ms"] = Times(timed.pose_ms);
  row["solve_ms"] = Times(timed.solve_ms);
  row["step_ms"] = Times(timed.step_ms);
  row["detection_median"] = detection;
  row["bodies_median"] = bodies_ms;
  row["solve_median"] = solve;
  row["check_median"] = Quantile(timed.check_ms, 0.5);
  row["bodies_and_solve_median"] = bodies_ms + solve;
  if (threads == 1) row["step_cpu"] = Quantile(timed.cpu_ms, 0.5);
  row["residual"] = Quantile(timed.residuals, 0.5);
  if (!timed.plain.empty()) {
    row["plain_residual"] = Quantile(timed.plain, 0.5);
    row["residual_over_plain"] = Quantile(timed.over_plain, 0.5);
    row["most_residual_over_plain"] = Quantile(timed.over_plain, 1);
  }
  row["ratio"] = (bodies_ms + solve) / paper;
  row["step_over_paper"] = step / paper;
  row["bodies_per_second"] = bodies / (1e-3 * step);
  row["paper"] = {
      {"bodies", line.bodies}, {"contacts", line.contacts}, {"assembly_and_solve_ms", paper}};
  if (line.scales) {
    // the same on fewer threads
    for (int count = 1; count < threads; count *= 2) {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, count);
      std::optional<World> again = Load(line, Budget(line));
      const Timed fewer = Run(line, 0, &*again);
      if (fewer.step_ms.empty()) continue;
      const double ms = Quantile(fewer.step_ms, 0.5);
      row[absl::StrCat("step_ms_on_", count)] = ms;
      row[absl::StrCat("bodies_per_second_on_", count)] = bodies / (1e-3 * ms);
      row[absl::StrCat("gain_over_", count)] = ms / step;
    }
    return row;
  }

  const Timed solved = Run(line, 0, &*cone);
  if (solved.step_ms.empty()) return row;
  if (line.is_settled) {
    // largest difference of any coordinate at the end [m], [rad]
    double departure = 0;
    for (std::size_t i = 0; i < world->state().q.size(); ++i)
      departure = std::max(departure, std::abs(world->state().q[i] - cone->state().q[i]));
    row["departure"] = departure;
  }
  row["cone"] = {{"solve_ms", Times(solved.solve_ms)},
                 {"residual", Quantile(solved.residuals, 1)},
                 {"converged_fraction", solved.converged / double(solved.step_ms.size())}};
  row["cone_ms"] = Quantile(solved.solve_ms, 0.5);
  return row;
}

}  // namespace

ordered_json RunMacklin2019(const std::string& only, int threads) {
  ordered_json rows = ordered_json::array();
  for (const TableLine& line : Table()) {
    if (!only.empty() && line.name.find(only) == std::string::npos) continue;
    std::fprintf(stderr, "%s\n", line.name.c_str());
    rows.push_back(RunLine(line, threads));
  }
  return rows;
}

}  // namespace pliant::benchmarks
