#include "server/run/run.h"

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <nlohmann/json.hpp>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>

#include "physics/scene/scene.h"
#include "physics/world/world.h"
#include "server/files/files.h"
#include "server/run/exit_status.h"
#include "server/run/interrupt.h"
#include "server/run/progress.h"
#include "server/run/recording/contact_problem_files.h"
#include "server/run/recording/field_series.h"
#include "server/run/recording/probe_recorder.h"
#include "server/run/run_report.h"

namespace pliant::server {
namespace {

using Json = nlohmann::ordered_json;
using SteadyClock = std::chrono::steady_clock;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// Everything that a run records while it steps.
struct Recording {
  Recording(const physics::World& world, const RunOptions& options) : probes(world) {
    if (!options.out_folder.empty() && options.fields_rate >= 0) {
      fields.emplace(world, options.out_folder, options.fields_rate);
    }
  }

  ProbeRecorder probes;
  std::optional<FieldSeries> fields;
  RunStatistics statistics;
  std::string residuals = "step,iteration,residual\n";
  std::optional<physics::WorldFault> fault;
  double wall_seconds = 0;
};

std::shared_ptr<const physics::Model> LoadModel(const RunOptions& options, std::ostream& err) {
  const physics::SceneResult result = LoadScene(options);
  for (const physics::SceneMessage& message : result.messages) err << Format(message) << '\n';
  return result.model;
}

// Checks every path that will be written, before time is spent on results that cannot be saved.
absl::Status PrepareOutputs(const RunOptions& options) {
  if (!options.out_folder.empty()) {
    const std::string folder =
        options.fields_rate >= 0 ? absl::StrCat(options.out_folder, "/fields") : options.out_folder;
    if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
    if (absl::Status status = CheckWritable(absl::StrCat(folder, "/trial")); !status.ok())
      return status;
    if (absl::Status status = CheckWritable(absl::StrCat(options.out_folder, "/report.json"));
        !status.ok()) {
      return status;
    }
  }
  for (const std::string& file :
       {options.json, options.state_out, options.residuals, options.contact_problem}) {
    if (file.empty() || file == "-") continue;
    if (absl::Status status = CheckWritable(file); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// Describes the flaw of a step under --strict; empty: none.
std::string FindFlaw(const physics::StepReport& report) {
  if (!report.converged) {
    return absl::StrCat("the step did not converge: ",
                        std::string(solvers::kStopReasonNames[static_cast<int>(report.reason)]));
  }
  for (std::size_t k = 0; k < physics::kCompromiseNames.size(); ++k) {
    const auto kind = static_cast<physics::Compromise>(k);
    const std::int64_t times = report.compromises[kind];
    if (times == 0 || physics::IsFurtherWork(kind)) continue;
    return absl::StrCat("the step is not exact: ", std::string(physics::kCompromiseNames[k]), " ",
                        times, " (see --strict)");
  }
  return "";
}

void RecordResiduals(const physics::World& world, std::string* text) {
  const std::vector<double>& residuals = world.report().iteration_residuals;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    absl::StrAppendFormat(text, "%d,%d,%.17g\n", world.state().step, i, residuals[i]);
  }
}

// Steps until the end, a fault or an interrupt. Returns an error only if a file cannot be written.
absl::Status StepThrough(const RunOptions& options, std::int64_t steps, physics::World* world,
                         InterruptWatch* interrupt, Recording* recording) {
  if (recording->fields) {
    if (absl::Status status = recording->fields->Record(); !status.ok()) return status;
  }
  Progress progress(steps);
  for (std::int64_t k = 0; k < steps; ++k) {
    if (interrupt->Arrived()) {
      recording->fault =
          physics::WorldFault{world->state().step, world->state().time, "interrupted", "", {}};
      break;
    }
    const bool is_described =
        !options.contact_problem.empty() && world->state().step + 1 == options.at_step;
    physics::ContactProblem problem;
    world->Describe(is_described ? &problem : nullptr);
    const absl::Status stepped = world->Step();
    if (!stepped.ok()) {
      recording->fault = physics::MakeFault(world->model(), world->state(), stepped);
      break;
    }
    recording->statistics.Add(world->report());
    recording->probes.Record();
    if (options.strict) {
      if (const std::string flaw = FindFlaw(world->report()); !flaw.empty()) {
        recording->fault =
            physics::WorldFault{world->state().step, world->state().time, flaw, "", {}};
        break;
      }
    }
    if (is_described) {
      if (absl::Status status = WriteContactProblem(problem, options.contact_problem); !status.ok())
        return status;
    }
    if (!options.residuals.empty()) RecordResiduals(*world, &recording->residuals);
    if (recording->fields) {
      if (absl::Status status = recording->fields->Record(); !status.ok()) return status;
    }
    progress.Update(k + 1, static_cast<double>(k + 1) * world->model().time_step);
  }
  return absl::OkStatus();
}

Json MakeReport(const RunOptions& options, int threads, const physics::World& world,
                const Recording& recording) {
  const physics::Model& model = world.model();
  const int steps = recording.statistics.steps();
  Json report;
  report["scene"] = model.name.empty() ? options.scene : model.name;
  report["method"] = physics::MethodName(model.method.kind);
  report["time_step"] = model.time_step;
  report["steps"] = steps;
  report["simulated_s"] = steps * model.time_step;
  report["wall_s"] = recording.wall_seconds;
  report["threads"] = threads;
  report["version"] = options.version;
  report["model_hash"] = model.hash;
  report["state_hash"] = physics::HashState(world.state());
  report["model"] = DescribeModelSize(model);
  recording.statistics.WriteTo(&report);
  report["memory_mb"] = ReadPeakMemory();
  report["probes"] = recording.probes.ToJson();
  report["fault"] = DescribeFault(recording.fault);
  return report;
}

// Writes everything that was recorded. Continues after an error, so that a full disk affects only
// the files on it.
absl::Status WriteOutputs(const RunOptions& options, const physics::World& world,
                          const Json& report, Recording* recording, std::ostream& out) {
  absl::Status status;
  const std::string text = report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (options.json == "-") {
    out << text << std::flush;
    if (!out) {
      status.Update(absl::UnavailableError(
          "cannot write the report to standard output: it is closed or full"));
    }
  } else if (!options.json.empty()) {
    status.Update(WriteWholeFile(options.json, text));
  }
  if (!options.state_out.empty()) status.Update(WriteWholeFile(options.state_out, world.Save()));
  if (!options.residuals.empty())
    status.Update(WriteWholeFile(options.residuals, recording->residuals));
  if (!options.out_folder.empty()) {
    status.Update(
        WriteWholeFile(absl::StrCat(options.out_folder, "/probes.csv"), recording->probes.ToCsv()));
    status.Update(WriteWholeFile(absl::StrCat(options.out_folder, "/report.json"), text));
    if (recording->fields) status.Update(recording->fields->Finish());
  }
  return status;
}

}  // namespace

int Run(const RunOptions& options, std::ostream& out, std::ostream& err) {
  InterruptWatch interrupt;
  const int threads = options.threads > 0 ? options.threads : tbb::info::default_concurrency();
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                            static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);

  std::shared_ptr<const physics::Model> model;
  arena.execute([&] { model = LoadModel(options, err); });
  if (model == nullptr) return kInvalidScene;

  std::string start_state;
  if (!options.state_in.empty()) {
    absl::StatusOr<std::string> bytes = ReadWholeFile(options.state_in);
    if (!bytes.ok()) {
      err << "pliantd run: " << bytes.status().message() << '\n';
      return kEnvironment;
    }
    start_state = *std::move(bytes);
  }
  if (absl::Status status = PrepareOutputs(options); !status.ok()) {
    err << "pliantd run: " << status.message() << '\n';
    return kEnvironment;
  }

  physics::World world(model);
  if (!options.state_in.empty()) {
    if (absl::Status status = world.Restore(start_state); !status.ok()) {
      err << options.state_in << ": " << status.message() << '\n';
      return kInvalidScene;
    }
  }

  // round up, but treat a duration that is a multiple of h up to rounding as that multiple
  const std::int64_t steps =
      static_cast<std::int64_t>(std::ceil(options.duration / model->time_step - 1e-9));
  if (const std::int64_t first = world.state().step + 1;
      !options.contact_problem.empty() &&
      (options.at_step < first || options.at_step >= first + steps)) {
    err << absl::StrFormat(
        "pliantd run: --at-step %d is not among the steps %d to %d of this run\n", options.at_step,
        first, first + steps - 1);
    return kWrongUsage;
  }
  if (!options.contact_problem.empty() && !model->method.flag_for_export().empty()) {
    err << "pliantd run: --contact-problem describes problems of impulses in reduced coordinates; "
           "leave it out, or add "
        << model->method.flag_for_export() << "\n";
    return kWrongUsage;
  }
  world.WatchEnergy(true);
  Recording recording(world, options);
  absl::Status written;
  const SteadyClock::time_point start = SteadyClock::now();
  arena.execute([&] { written = StepThrough(options, steps, &world, &interrupt, &recording); });
  recording.wall_seconds = SecondsSince(start);

  const Json report = MakeReport(options, threads, world, recording);
  written.Update(WriteOutputs(options, world, report, &recording, out));
  if (options.json.empty()) out << Summarise(report) << std::flush;

  if (const int failed = recording.statistics.not_converged(); failed > 0) {
    err << absl::StrFormat("pliantd run: %d of %d steps did not converge; worst residual %.2g\n",
                           failed, recording.statistics.steps(),
                           report["solver"]["residual_max"].get<double>());
  }
  if (recording.fault) {
    err << absl::StrFormat("pliantd run: fault in step %d at t = %.6g s: %s\n",
                           recording.fault->step, recording.fault->time, recording.fault->reason);
  }
  if (!written.ok()) {
    err << "pliantd run: " << written.message() << '\n';
    return kEnvironment;
  }
  return recording.fault ? kRunFault : kDone;
}

}  // namespace pliant::server
