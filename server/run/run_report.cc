#include "server/run/run_report.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <nlohmann/json.hpp>

namespace pliant::server {
namespace {

using Json = nlohmann::ordered_json;

// Quantile of an ascending list, interpolated linearly between its entries.
double Quantile(const std::vector<double>& sorted, double fraction) {
  if (sorted.empty()) return 0;
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const std::size_t k = static_cast<std::size_t>(place);
  if (k + 1 == sorted.size()) return sorted[k];
  return sorted[k] + (place - static_cast<double>(k)) * (sorted[k + 1] - sorted[k]);
}

}  // namespace

void RunStatistics::Extent::Add(double x) {
  sum += x;
  max = std::max(max, x);
}

void RunStatistics::Add(const physics::StepReport& report) {
  if (steps() == 0) energy_start_ = report.energy.before;
  energy_end_ = report.energy.after;
  work_ += report.energy.work;
  gain_max_ = std::max(gain_max_, report.energy.gain());
  gain_sum_ += std::max(0.0, report.energy.gain());
  step_seconds_.push_back(report.seconds);
  for (std::size_t i = 0; i < report.phase_seconds.size(); ++i)
    phase_seconds_[i] += report.phase_seconds[i];
  participating_.Add(report.participating);
  asleep_.Add(report.asleep);
  iterations_.Add(report.iterations);
  linear_iterations_.Add(report.linear_iterations);
  joint_drift_max_ = std::max(joint_drift_max_, report.joint_drift);
  constraints_.Add(report.constraints);
  contacts_.Add(static_cast<double>(report.contacts.size()));
  residual_max_ = std::max(residual_max_, report.residual);
  newton_iterations_.Add(report.newton_iterations);
  newton_residual_max_ = std::max(newton_residual_max_, report.newton_residual);
  projected_elements_.Add(report.projected_elements);
  complementarity_max_ = std::max(complementarity_max_, report.complementarity);
  cone_violation_max_ = std::max(cone_violation_max_, report.cone_violation);
  converged_ += report.converged;
  stalled_ += report.stalled();
  refactorisations_ += report.refactorisations;
  totals_.Add(report);
}

double RunStatistics::mean_step_seconds() const {
  const double sum = std::accumulate(step_seconds_.begin(), step_seconds_.end(), 0.0);
  return sum / std::max(steps(), 1);
}

void RunStatistics::WriteTo(Json* report) const {
  const double count = std::max(steps(), 1);
  std::vector<double> sorted = step_seconds_;
  std::sort(sorted.begin(), sorted.end());
  const double max = sorted.empty() ? 0 : sorted.back();
  const auto extent = [&](const Extent& e) {
    return Json{{"mean", e.sum / count}, {"max", e.max}};
  };

  (*report)["participating"] = extent(participating_);
  (*report)["step_ms"] = {{"mean", 1e3 * mean_step_seconds()},
                          {"median", 1e3 * Quantile(sorted, 0.5)},
                          {"p95", 1e3 * Quantile(sorted, 0.95)},
                          {"max", 1e3 * max}};
  Json phases = Json::object();
  for (std::size_t i = 0; i < phase_seconds_.size(); ++i)
    phases[std::string(physics::kPhaseNames[i])] = 1e3 * phase_seconds_[i] / count;
  (*report)["phases_ms"] = std::move(phases);
  (*report)["solver"] = {{"iterations_mean", iterations_.sum / count},
                         {"iterations_max", iterations_.max},
                         // of iterative solvers, per step
                         {"linear_iterations_mean", linear_iterations_.sum / count},
                         {"converged_fraction", steps() == 0 ? 1.0 : converged_ / count},
                         {"stalled_fraction", stalled_ / count},
                         {"residual_max", residual_max_},
                         // of the free motion of bodies with nonlinear materials
                         {"newton_iterations_mean", newton_iterations_.sum / count},
                         {"newton_iterations_max", newton_iterations_.max},
                         {"newton_residual_max", newton_residual_max_},
                         // elements with indefinite stiffness or compliance, per step
                         {"projected_elements_mean", projected_elements_.sum / count},
                         {"projected_elements_max", projected_elements_.max},
                         {"complementarity_max", complementarity_max_},
                         {"cone_violation_max", cone_violation_max_},
                         // of joints in maximal coordinates
                         {"joint_drift_max", joint_drift_max_},
                         {"refactorisations", refactorisations_}};
  // number of steps by the reason for which their solve ended
  Json& reasons = (*report)["solver"]["reasons"] = Json::object();
  for (std::size_t k = 0; k < totals_.ended.size(); ++k)
    if (totals_.ended[k] > 0) reasons[std::string(solvers::kStopReasonNames[k])] = totals_.ended[k];
  // how often something was relaxed, clamped or cut off, over all steps
  totals_.compromises.ForEach([&](std::string_view kind, std::int64_t times) {
    (*report)["solver"][std::string(kind)] = times;
  });
  // what a step has gained beyond the work done on the bodies; losses are not set off against gains
  (*report)["energy"] = {{"start", energy_start_},
                         {"end", energy_end_},
                         {"work", work_},
                         {"gain_max", gain_max_},
                         {"gain_sum", gain_sum_}};
  (*report)["constraints"] = extent(constraints_);
  (*report)["contacts"] = extent(contacts_);
  (*report)["asleep"] = extent(asleep_);
}

Json DescribeModelSize(const physics::Model& model) {
  int rigid = 0, deformable = 0;
  std::size_t joints = 0, vertices = 0, tetrahedra = 0, particles = 0;
  for (const physics::Robot& robot : model.robots) joints += robot.joints.size();
  for (const physics::Body& body : model.bodies) {
    (model.abilities_of(body).nodes != nullptr ? deformable : rigid) += 1;
    vertices += body.mesh.vertices.size();
    tetrahedra += body.mesh.tetrahedra.size();
    particles += physics::CountPoints(model, body);
  }
  return {{"dofs", model.velocity_offsets.back()},
          {"rigid_bodies", rigid},
          {"joints", joints},
          {"deformables", deformable},
          {"vertices", vertices},
          {"tetrahedra", tetrahedra},
          {"particles", particles}};
}

std::string ListBodies(const Json& size) {
  std::string text =
      absl::StrFormat("%d rigid bodies, %d deformable with %d vertices, %d tetrahedra",
                      size["rigid_bodies"].get<int>(), size["deformables"].get<int>(),
                      size["vertices"].get<int>(), size["tetrahedra"].get<int>());
  const int particles = size["particles"].get<int>();
  if (particles > 0) absl::StrAppendFormat(&text, ", %d particles", particles);
  return text;
}

Json DescribeFault(const std::optional<physics::WorldFault>& fault) {
  if (!fault) return nullptr;
  return {{"step", fault->step},
          {"time", fault->time},
          {"reason", fault->reason},
          {"body", fault->body.empty() ? Json(nullptr) : Json(fault->body)}};
}

double ReadPeakMemory() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("VmHWM:", 0) == 0) return 1024e-6 * std::atof(line.c_str() + 6);
  }
  return 0;
}

std::string Summarise(const Json& report) {
  const Json& model = report["model"];
  const Json& solver = report["solver"];
  const double simulated = report["simulated_s"];
  const double wall = report["wall_s"];
  std::string text = absl::StrFormat(
      "%s: %d steps of %g ms, %g s simulated in %.3g s (%.3g × real time), %s method, %d "
      "thread%s\n",
      report["scene"].get<std::string>(), report["steps"].get<int>(),
      1e3 * report["time_step"].get<double>(), simulated, wall, wall > 0 ? simulated / wall : 0.0,
      report["method"].get<std::string>(), report["threads"].get<int>(),
      report["threads"].get<int>() == 1 ? "" : "s");
  absl::StrAppendFormat(&text, "  model     %d DoFs: %s\n", model["dofs"].get<int>(),
                        ListBodies(model));
  absl::StrAppendFormat(
      &text, "  step      %.3g ms mean, %.3g median, %.3g p95, %.3g max\n",
      report["step_ms"]["mean"].get<double>(), report["step_ms"]["median"].get<double>(),
      report["step_ms"]["p95"].get<double>(), report["step_ms"]["max"].get<double>());
  absl::StrAppendFormat(
      &text,
      "  solver    %.3g iterations mean, %g max; %.4g %% of steps converged, worst residual %.2g\n",
      solver["iterations_mean"].get<double>(), solver["iterations_max"].get<double>(),
      100 * solver["converged_fraction"].get<double>(), solver["residual_max"].get<double>());
  for (const std::string_view kind : physics::kCompromiseNames) {
    const std::int64_t times = solver[std::string(kind)];
    if (times > 0) absl::StrAppendFormat(&text, "  limits    %s: %d\n", kind, times);
  }
  absl::StrAppendFormat(&text, "  contacts  %.3g mean, %g max\n",
                        report["contacts"]["mean"].get<double>(),
                        report["contacts"]["max"].get<double>());
  absl::StrAppendFormat(
      &text, "  energy    %.4g J to %.4g J, %.4g J supplied; gained %.2g J\n",
      report["energy"]["start"].get<double>(), report["energy"]["end"].get<double>(),
      report["energy"]["work"].get<double>(), report["energy"]["gain_sum"].get<double>());
  absl::StrAppendFormat(&text, "  memory    %.0f MB\n", report["memory_mb"].get<double>());

  // last value of each probe
  for (const auto& [name, series] : report["probes"].items()) {
    if (series["value"].empty()) continue;
    const Json& last = series["value"].back();
    const bool rows = last.is_array() && (last.empty() || last.front().is_array());
    absl::StrAppendFormat(&text, "  probe     %s = %s\n", name,
                          rows ? absl::StrCat(last.size(), " contact points") : last.dump());
  }
  absl::StrAppend(&text, "  state     ", report["state_hash"].get<std::string>(), "\n");
  return text;
}

}  // namespace pliant::server
