// Shipped scenes of particles: examples of Zong et al. 2024 (Table I), and our own. They run on the
// suite's threads; times are wall-clock times.

#include <cmath>
#include <cstdio>

#include "benchmarks/measure.h"
#include "benchmarks/particles/large_bodies.h"
#include "benchmarks/particles/shipped_scene.h"
#include "benchmarks/particles/zong2024_figures.h"
#include "benchmarks/suite.h"
#include "physics/world/world.h"

namespace pliant::benchmarks {
namespace {

using nlohmann::ordered_json;
using physics::World;

struct PaperLine {
  const char* scene;
  double cell_size;  // in the scene [m]
  double seconds;    // duration of the run [s]
  // Figures of Table I; 0 where it has none.
  int particles;
  double velocities, step_seconds;
  double limit_ms;  // goal for the mean time of a step; 0: none
};
constexpr PaperLine kPaperLines[] = {
    {"particle_ball_on_slope", 0.2, 1, 6777, 1075.5, 0, 40},
    {"particle_panels", 0.025, 2, 0, 0, 0, 0},
    {"close_lift_shake", 0.025, 3.5, 3456, 1576.0, 1.94, 60},
    {"dough_tearing", 0.0225, 3.2, 1647, 2974.7, 0, 120},
    {"dough_bubble", 0.016, 2.8, 0, 0, 0, 0},
    {"dough_rolling", 0.018, 4.2, 5863, 5827.3, 0, 250},
    {"water_pouring", 0.024, 5, 791, 1468.1, 0.85, 30},
    {"dam_break", 0.025, 0.4, 0, 0, 0, 0},
};

int CountParticles(const physics::Model& model) {
  int count = 0;
  for (const physics::Body& body : model.bodies) {
    if (body.block == physics::kWorldBlock) continue;
    const physics::ElementSet* elements = model.blocks[body.block]->abilities().elements;
    if (elements != nullptr && elements->are_points(body.part))
      count += elements->elements_of(body.part).count;
  }
  return count;
}

ordered_json RunPaperLine(const PaperLine& line, int max_steps) {
  ordered_json row{{"case", line.scene}, {"cell_size", line.cell_size}};
  const auto model = LoadShipped(line.scene, {}, &row);
  if (model == nullptr) return row;
  ForgetPeakMemory();
  const double before = ReadPeakMemory();
  World world(model);
  const int particles = CountParticles(*model);
  const double h = model->time_step;
  int count = static_cast<int>(std::lround(line.seconds / h));
  if (max_steps > 0) count = std::min(count, max_steps);
  std::vector<double> seconds, contacts;
  double velocities = 0, iterations = 0, relinearisations = 0, converged = 0;
  for (int n = 0; n < count; ++n) {
    const double start = Now();
    if (const absl::Status status = world.Step(); !status.ok()) {
      row["note"] = status.message();
      break;
    }
    seconds.push_back(Now() - start);
    const physics::StepReport& report = world.report();
    contacts.push_back(static_cast<double>(report.contacts.size()));
    velocities += report.participating;
    iterations += report.iterations;
    relinearisations += report.relinearisations;
    converged += report.converged;
  }
  if (seconds.empty()) return row;
  const double steps = static_cast<double>(seconds.size());
  double total = 0, touching = 0;
  for (const double x : seconds) total += x;
  for (const double x : contacts) touching += x;
  row["particles"] = particles;
  row["time_step"] = h;
  row["steps"] = seconds.size();
  row["step_ms"] = {{"mean", 1e3 * total / steps},
                    {"median", 1e3 * Quantile(seconds, 0.5)},
                    {"p95", 1e3 * Quantile(seconds, 0.95)}};
  row["real_time_rate"] = h * steps / total;
  row["velocities_mean"] = velocities / steps;
  row["contacts_mean"] = touching / steps;
  row["contacts_max"] = Quantile(contacts, 1);
  row["iterations_mean"] = iterations / steps;
  row["relinearisations_mean"] = relinearisations / steps;
  row["converged_fraction"] = converged / steps;
  row["bytes_per_particle"] = 1e6 * (ReadPeakMemory() - before) / particles;
  if (line.velocities > 0)
    row["paper"] = {{"particles", line.particles}, {"velocities", line.velocities}};
  if (line.step_seconds > 0) {
    row["paper"]["step_ms"] = 1e3 * line.step_seconds;
    row["paper_ratio"] = line.step_seconds / (total / steps);
  }
  if (line.limit_ms > 0) row["limit_ms"] = line.limit_ms;
  return row;
}

}  // namespace

ordered_json RunZong2024(const std::string& only, int max_steps) {
  ordered_json rows = ordered_json::array();
  for (const PaperLine& line : kPaperLines) {
    if (std::string(line.scene).find(only) == std::string::npos) continue;
    std::fprintf(stderr, "%s\n", line.scene);
    rows.push_back(RunPaperLine(line, max_steps));
  }
  AddZong2024Figures(only, max_steps, &rows);
  AddLargeBodies(only, &rows);
  return rows;
}

}  // namespace pliant::benchmarks
