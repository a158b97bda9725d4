#include "benchmarks/particles/zong2024_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "benchmarks/measure.h"
#include "benchmarks/particles/explicit_scene.h"
#include "benchmarks/particles/shipped_scene.h"
#include "physics/world/body_motion.h"
#include "physics/world/probes.h"

namespace pliant::benchmarks {
namespace {

using Eigen::Vector3d;
using nlohmann::ordered_json;
using physics::World;

constexpr double kGravity = 9.81;  // [m/s²]

Vector3d ReadProbe(const World& world, const std::string& name) {
  for (const physics::Probe& probe : world.model().probes) {
    if (probe.name != name) continue;
    const std::vector<double> x =
        SampleProbe(world.model(), probe, world.state(), world.report(), world.model().time_step)
            .numbers;
    return {x[0], x.size() > 1 ? x[1] : 0, x.size() > 2 ? x[2] : 0};
  }
  return Vector3d::Zero();
}

Vector3d PositionOf(const World& world, const std::string& name) {
  for (std::size_t b = 0; b < world.model().bodies.size(); ++b)
    if (world.model().bodies[b].name == name)
      return CalcCenterOfMass(world.model(), world.state(), static_cast<int>(b));
  return Vector3d::Zero();
}

// Steps by step() until `seconds` and calls record(time) after each step. An error ends the run,
// and is noted in the row.
void Advance(double seconds, double h, int max_steps, const std::function<absl::Status()>& step,
             const std::function<void(double t)>& record, ordered_json* row) {
  int count = static_cast<int>(std::lround(seconds / h));
  if (max_steps > 0) count = std::min(count, max_steps);
  const double start = Now();
  int n = 0;
  for (; n < count; ++n) {
    if (const absl::Status status = step(); !status.ok()) {
      (*row)["note"] = status.message();
      (*row)["fails_at"] = n * h;
      break;
    }
    record((n + 1) * h);
  }
  (*row)["time_step"] = h;
  (*row)["mean_ms"] = 1e3 * (Now() - start) / std::max(n, 1);
}

// Mean, standard deviation and peak to peak of a force at rest [N].
void AddRipple(const std::string& name, const std::vector<double>& force, ordered_json* row) {
  if (force.empty()) return;
  double sum = 0, squares = 0;
  for (const double f : force) sum += f;
  const double mean = sum / static_cast<double>(force.size());
  for (const double f : force) squares += (f - mean) * (f - mean);
  (*row)[name + "_mean"] = mean;
  (*row)[name + "_std"] = std::sqrt(squares / static_cast<double>(force.size()));
  (*row)[name + "_peak_to_peak"] =
      *std::max_element(force.begin(), force.end()) - *std::min_element(force.begin(), force.end());
}

// Figure 3: the distance that the ball has come down the slope, and its analytical value.
ordered_json RollBall(double friction, int max_steps, ordered_json row) {
  const auto model =
      LoadShipped("particle_ball_on_slope", {absl::StrCat("contact.friction=", friction)}, &row);
  if (model == nullptr) return row;
  World world(model);
  const Vector3d start = ReadProbe(world, "position");
  // 45°: it rolls where μ ≥ 2/7 tan θ
  const double along = kGravity * std::sqrt(0.5);
  const double acceleration = friction >= 2.0 / 7 ? along / 1.4 : along * (1 - friction);
  std::vector<double> times, distances;
  Advance(
      1, model->time_step, max_steps, [&] { return world.Step(); },
      [&](double t) {
        times.push_back(t);
        distances.push_back((ReadProbe(world, "position") - start)
                                .dot(Vector3d(std::sqrt(0.5), 0, -std::sqrt(0.5))));
      },
      &row);
  row["friction"] = friction;
  row["acceleration"] = acceleration;
  if (!times.empty())
    row["distance_ratio"] = distances.back() / (acceleration * times.back() * times.back() / 2);
  row["t"] = times;
  row["distance"] = distances;
  return row;
}

// Contact forces of a body of particles on a panel, over a run of panels at rest.
struct PanelForces {
  std::vector<double> times, normal, friction;           // of each step
  std::vector<double> rest_normal, rest_friction;        // of each step at rest
  std::vector<double> substep_normal, substep_friction;  // of each substep at rest

  static constexpr double kRest = 1, kEnd = 2;  // [s]

  // `force`: on the left panel.
  void Record(double t, const Vector3d& force) {
    times.push_back(t);
    normal.push_back(-force.x());
    friction.push_back(-force.z());
    if (t <= kRest) return;
    rest_normal.push_back(normal.back());
    rest_friction.push_back(friction.back());
  }
  void Write(ordered_json* row) const {
    AddRipple("normal", rest_normal, row);
    AddRipple("friction", rest_friction, row);
    AddRipple("substep_normal", substep_normal, row);
    AddRipple("substep_friction", substep_friction, row);
    (*row)["t"] = times;
    (*row)["normal"] = normal;
    (*row)["friction"] = friction;
  }
};

ordered_json HoldByConvex(int max_steps, ordered_json row) {
  const auto model = LoadShipped("particle_panels", {}, &row);
  if (model == nullptr) return row;
  World world(model);
  PanelForces forces;
  Advance(
      PanelForces::kEnd, model->time_step, max_steps, [&] { return world.Step(); },
      [&](double t) { forces.Record(t, -ReadProbe(world, "left")); }, &row);
  forces.Write(&row);
  return row;
}

struct ExplicitRun {
  const char* name;
  double time_step;  // [s]
  int substeps;
  Exchange exchange;
};

absl::StatusOr<ExplicitScene> LoadExplicit(const std::string& scene, const ExplicitRun& run,
                                           std::vector<std::string> overrides, ordered_json* row) {
  overrides.push_back(absl::StrCat("time_step=", run.time_step));
  absl::StatusOr<ExplicitScene> loaded =
      ExplicitScene::Load(PathOfShipped(scene), std::move(overrides), run.substeps, run.exchange);
  if (!loaded.ok()) {
    (*row)["note"] = loaded.status().message();
    return loaded;
  }
  (*row)["substeps"] = run.substeps;
  (*row)["courant_number"] = run.time_step / run.substeps / loaded->particles().CalcCourantLimit();
  return loaded;
}

// Figure 6 with explicit particles.
constexpr ExplicitRun kExplicitPanels[] = {
    {"panels_explicit_25", 0.01, 25, Exchange::kSubstep},
    {"panels_explicit_fine", 0.00125, 25, Exchange::kSubstep},
    {"panels_staggered_25", 0.01, 25, Exchange::kStep},
    {"panels_staggered_fine", 0.00125, 25, Exchange::kStep},
};

ordered_json HoldByExplicit(const ExplicitRun& run, int max_steps, ordered_json row) {
  auto scene = LoadExplicit("particle_panels", run, {}, &row);
  if (!scene.ok()) return row;
  PanelForces forces;
  Advance(
      PanelForces::kEnd, run.time_step, max_steps, [&] { return scene->Step(); },
      [&](double t) {
        forces.Record(t, scene->CalcForceOn("left"));
        if (t <= PanelForces::kRest) return;
        for (const Vector3d& force : scene->CalcSubstepForcesOn("left")) {
          forces.substep_normal.push_back(-force.x());
          forces.substep_friction.push_back(-force.z());
        }
      },
      &row);
  forces.Write(&row);
  return row;
}

// Slip of the heavy cube downwards between the soft ones, from 0.5 s on, when the panels start to
// lift, and its height at the end.
class Slip {
 public:
  // Heights of the cube and of the panels' carriage [m].
  void Record(double t, double cube, double carriage) {
    if (t < 0.5) return;
    const double height = cube - carriage;
    if (times_.empty()) start_ = height;
    times_.push_back(t);
    slips_.push_back(1e3 * (start_ - height));
    largest_ = std::max(largest_, std::abs(slips_.back()));
    height_ = cube;
  }
  void Write(ordered_json* row) const {
    if (times_.empty()) return;
    (*row)["slip_mm"] = slips_.back();
    (*row)["largest_slip_mm"] = largest_;
    (*row)["height"] = height_;
    (*row)["t"] = times_;
    (*row)["slips_mm"] = slips_;
  }

 private:
  double start_ = 0, largest_ = 0, height_ = 0;
  std::vector<double> times_, slips_;
};
constexpr double kShakeSeconds = 3.5;

ordered_json ShakeByConvex(double friction, int max_steps, ordered_json row) {
  const auto model =
      LoadShipped("close_lift_shake", {absl::StrCat("contact.friction=", friction)}, &row);
  if (model == nullptr) return row;
  World world(model);
  Slip slip;
  Advance(
      kShakeSeconds, model->time_step, max_steps, [&] { return world.Step(); },
      [&](double t) {
        slip.Record(t, PositionOf(world, "heavy").z(), ReadProbe(world, "carriage").x());
      },
      &row);
  slip.Write(&row);
  return row;
}

// Figure 7 with explicit particles. 25 substeps of 10 ms are longer than the limit of stability.
constexpr ExplicitRun kExplicitShakes[] = {
    {"shake_explicit_25", 0.01, 25, Exchange::kSubstep},
    {"shake_explicit_100", 0.01, 100, Exchange::kSubstep},
    {"shake_staggered_100", 0.01, 100, Exchange::kStep},
    {"shake_explicit_fine", 0.00125, 25, Exchange::kSubstep},
};

ordered_json ShakeByExplicit(const ExplicitRun& run, const std::vector<std::string>& overrides,
                             int max_steps, ordered_json row) {
  auto scene = LoadExplicit("close_lift_shake", run, overrides, &row);
  if (!scene.ok()) return row;
  const double start = PositionOf(scene->world(), "panels/carriage").z();
  Slip slip;
  Advance(
      kShakeSeconds, run.time_step, max_steps, [&] { return scene->Step(); },
      [&](double t) {
        slip.Record(t, PositionOf(scene->world(), "heavy").z(),
                    PositionOf(scene->world(), "panels/carriage").z() - start);
      },
      &row);
  slip.Write(&row);
  return row;
}

}  // namespace

void AddZong2024Figures(const std::string& only, int max_steps, ordered_json* rows) {
  const auto add = [&](const std::string& name, const auto& run) {
    if (name.find(only) == std::string::npos) return;
    std::fprintf(stderr, "%s\n", name.c_str());
    rows->push_back(run(ordered_json{{"case", name}}));
  };
  for (const double friction : {0.2, 0.5}) {
    add(absl::StrCat("ball_friction_", friction),
        [&](const ordered_json& row) { return RollBall(friction, max_steps, row); });
  }
  add("panels_convex", [&](const ordered_json& row) { return HoldByConvex(max_steps, row); });
  for (const ExplicitRun& run : kExplicitPanels)
    add(run.name, [&](const ordered_json& row) { return HoldByExplicit(run, max_steps, row); });
  for (const auto& [name, friction] :
       {std::pair("shake_convex", 1.0), std::pair("shake_slippery_convex", 0.1)})
    add(name, [&](const ordered_json& row) { return ShakeByConvex(friction, max_steps, row); });
  const auto shake = [&](const ExplicitRun& run, const std::vector<std::string>& overrides) {
    add(run.name,
        [&](const ordered_json& row) { return ShakeByExplicit(run, overrides, max_steps, row); });
  };
  for (const ExplicitRun& run : kExplicitShakes) shake(run, {});
  shake({"shake_slippery_explicit", 0.01, 100, Exchange::kSubstep}, {"contact.friction=0.1"});
  // a middle cube as light as the soft ones
  shake({"shake_light_explicit", 0.01, 100, Exchange::kSubstep}, {"bodies[1].rigid.density=100"});
}

}  // namespace pliant::benchmarks
