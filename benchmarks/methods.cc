// Compares the methods, each with its default budgets, on a cube that rests, creeps, breaks away
// and slides, and on every shipped scene.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "benchmarks/suite.h"
#include "physics/scene/scene.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using Eigen::Vector3d;
using nlohmann::ordered_json;
using physics::World;

constexpr const char* kMethods[] = {"convex", "corrective", "nonsmooth", "smooth"};
constexpr double kWeight = 9.81, kFriction = 0.5, kTimeStep = 0.005;  // cube of 1 kg; [N], [s]

// Loads a cube of 0.1 m that touches the ground, with initial speed along x [m/s]. Null on failure.
std::unique_ptr<World> LoadCube(bool is_soft, const std::string& method, double speed) {
  const std::string body =
      is_soft ? "deformable: {mesh: {box: {size: [0.1, 0.1, 0.1]}, edge_length: 0.05}, material: "
                "{model: LINEAR_COROTATIONAL, youngs_modulus: 1.0e6, poissons_ratio: 0.3, density: "
                "1000}, "
              : "rigid: {motion: FREE, density: 1000, shapes: [{box: {size: [0.1, 0.1, 0.1]}}], ";
  const std::string yaml =
      absl::StrCat("time_step: ", kTimeStep, "\nsleeping: false\ncontact: {friction: ", kFriction,
                   "}\nbodies:\n  - {name: ground, rigid: {motion: FIXED, shapes: [{half_space: "
                   "{}}]}}\n  - {name: cube, ",
                   body, "pose: {position: [0, 0, 0.05]}, velocity: {linear: [", speed, ", 0, 0]}}",
                   "}\nprobes:\n  - {name: force, contact_force: {body: cube}}\n");
  physics::SceneOptions options;
  options.method = method;
  const physics::SceneResult scene = physics::LoadSceneYaml(yaml, "cube", options);
  for (const auto& message : scene.messages)
    std::fprintf(stderr, "%s\n", physics::Format(message).c_str());
  return scene.ok() ? std::make_unique<World>(scene.model) : nullptr;
}

// Position of the cube [m]: the mean of its nodes, or its centre if it is rigid.
Vector3d FindCube(const World& world) {
  const physics::Model& model = world.model();
  const auto q = model.Positions(world.state(), model.bodies[1].block);
  const physics::NodeSet* set = model.abilities_of(model.bodies[1]).nodes;
  if (set == nullptr) return {q[4], q[5], q[6]};
  const int nodes = set->num_nodes();
  Vector3d sum = Vector3d::Zero();
  for (int i = 0; i < nodes; ++i) sum += Vector3d(q[3 * i], q[3 * i + 1], q[3 * i + 2]);
  return sum / nodes;
}

// Statistics of a run, updated after each step.
struct Course {
  std::vector<double> ms;
  double converged = 0, iterations = 0, contacts = 0;
  double min_force = 1e300, max_force = 0;  // normal, on the cube [N]
  double smallest_gap = 1e300;              // in the last step [m]
  double count() const { return static_cast<double>(ms.size()); }
};

// Steps for `seconds` under the force push(time) along x [N], or until `until` is true. False when
// a step fails.
bool Run(
    World* world, double seconds, const std::function<double(double)>& push, Course* course,
    const std::function<bool()>& until = [] { return false; }) {
  const double end = world->state().time + seconds;
  while (world->state().time < end - 1e-9 && !until()) {
    physics::Inputs inputs;
    const double force = push(world->state().time);
    if (force != 0) {
      physics::Inputs::AppliedForce applied;
      applied.body = 1;
      applied.force_W = Vector3d(force, 0, 0);
      inputs.forces.push_back(applied);
    }
    const double start = Now();
    if (!world->Step(inputs).ok()) return false;
    course->ms.push_back(1e3 * (Now() - start));
    const physics::StepReport& report = world->report();
    course->converged += report.converged ? 1 : 0;
    course->iterations += report.iterations;
    course->contacts += static_cast<double>(report.contacts.size());
    double force_z = 0;
    course->smallest_gap = 1e300;
    for (const auto& contact : report.contacts) {
      force_z += contact.impulse_W.z() / world->model().time_step;
      course->smallest_gap = std::min(course->smallest_gap, contact.gap);
    }
    course->min_force = std::min(course->min_force, std::abs(force_z));
    course->max_force = std::max(course->max_force, std::abs(force_z));
  }
  return true;
}

ordered_json RunCube(bool is_soft, const std::string& method) {
  ordered_json row{{"case", absl::StrCat(is_soft ? "soft_" : "rigid_", "cube_", method)},
                   {"time_step", kTimeStep}};
  const auto none = [](double) { return 0.0; };
  const auto fail = [&] {
    row["note"] = "a step failed";
    return row;
  };

  // at rest: normal force, its ripple, and penetration
  auto world = LoadCube(is_soft, method, 0);
  if (world == nullptr) return fail();
  Course fall, rest, hold;
  if (!Run(world.get(), 2, none, &fall) || !Run(world.get(), 1, none, &rest)) return fail();
  row["resting_force"] = 0.5 * (rest.min_force + rest.max_force);
  row["ripple"] = (rest.max_force - rest.min_force) / kWeight;
  row["penetration"] = -rest.smallest_gap;

  // push with four fifths of the friction limit
  const double limit = kFriction * kWeight;
  const auto push = [&](double) { return 0.8 * limit; };
  if (!Run(world.get(), 1, push, &fall)) return fail();
  const double from = FindCube(*world).x();
  if (!Run(world.get(), 2, push, &hold)) return fail();
  row["creep"] = (FindCube(*world).x() - from) / 2;

  // raise the push until the cube breaks away
  const double start = world->state().time, rest_at = FindCube(*world).x();
  const double rate = 0.2;  // [N/s], slow enough for a detection error of a thousandth
  double at = 0;
  const auto ramp = [&](double t) { return at = 0.9 * limit + rate * (t - start); };
  const double slack = is_soft ? 1e-4 : 2e-5;
  const auto is_off = [&] { return FindCube(*world).x() - rest_at > slack; };
  if (!Run(world.get(), 0.2 * limit / rate, ramp, &fall, is_off)) return fail();
  row["stick_limit"] = at / kWeight;

  // launch the cube along the ground
  world = LoadCube(is_soft, method, 1);
  Course slide;
  double gap = 0;
  const auto note_gap = [&] {
    if (world->state().time < 0.1 && slide.smallest_gap < 1e299)
      gap = std::max(gap, slide.smallest_gap);
    return false;
  };
  if (!Run(world.get(), 0.6, none, &slide, note_gap)) return fail();
  row["sliding_distance"] = FindCube(*world).x();
  row["of_coulomb"] = FindCube(*world).x() * 2 * limit;  // v²/2μg for 1 m/s
  row["gliding_gap"] = gap;
  row["iterations_mean"] = slide.iterations / slide.count();
  row["contacts_mean"] = slide.contacts / slide.count();
  row["converged_fraction"] = (slide.converged + rest.converged + hold.converged) /
                              (slide.count() + rest.count() + hold.count());
  row["step_ms"] = {{"median", Quantile(slide.ms, 0.5)}, {"p95", Quantile(slide.ms, 0.95)}};
  return row;
}

// Runs the first second of a shipped scene, or three hundred steps if that is less.
ordered_json RunScene(const std::string& path, const std::string& method) {
  ordered_json row{
      {"case", absl::StrCat(std::filesystem::path(path).stem().string(), "_", method)}};
  physics::SceneOptions options;
  options.method = method;
  options.overrides = {"sleeping=false"};
  const physics::SceneResult scene = physics::LoadSceneFile(path, options);
  if (!scene.ok()) {
    row["note"] =
        scene.messages.empty() ? "the scene does not load" : Format(scene.messages.front());
    return row;
  }
  World world(scene.model);
  Course course;
  double worst = 0;
  const double h = scene.model->time_step;
  row["time_step"] = h;
  const bool is_whole = Run(
      &world, std::min(1.0, 300 * h), [](double) { return 0.0; }, &course,
      [&] {
        worst = std::max(worst, world.report().residual);
        return false;
      });
  if (!is_whole) row["note"] = "a step failed";
  if (course.ms.empty()) return row;
  row["steps"] = course.ms.size();
  row["step_ms"] = {{"median", Quantile(course.ms, 0.5)}, {"p95", Quantile(course.ms, 0.95)}};
  row["real_time_rate"] = h / (1e-3 * Quantile(course.ms, 0.5));
  row["contacts_mean"] = course.contacts / course.count();
  row["iterations_mean"] = course.iterations / course.count();
  row["converged_fraction"] = course.converged / course.count();
  row["residual_max"] = worst;
  return row;
}

}  // namespace

ordered_json RunMethods(const std::string& only) {
  ordered_json rows = ordered_json::array();
  const auto add = [&](const std::string& name, const std::function<ordered_json()>& run) {
    if (name.find(only) == std::string::npos) return;
    std::fprintf(stderr, "running %s …\n", name.c_str());
    rows.push_back(run());
  };
  for (const bool is_soft : {false, true}) {
    for (const char* method : kMethods) {
      add(absl::StrCat(is_soft ? "soft_" : "rigid_", "cube_", method),
          [&] { return RunCube(is_soft, method); });
    }
  }
  std::vector<std::filesystem::path> scenes;
  for (const auto& entry : std::filesystem::directory_iterator(PLIANT_SOURCE_DIR "/scenes"))
    if (entry.path().extension() == ".yaml") scenes.push_back(entry.path());
  std::sort(scenes.begin(), scenes.end());
  for (const auto& scene : scenes) {
    for (const char* method : kMethods) {
      add(absl::StrCat(scene.stem().string(), "_", method),
          [&] { return RunScene(scene.string(), method); });
    }
  }
  return rows;
}

}  // namespace pliant::benchmarks
