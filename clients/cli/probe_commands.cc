#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"

#include "clients/cli/commands.h"
#include "clients/cli/terminal/output.h"

namespace pliant::clients {
namespace {

struct ProbeArguments {
  std::string world;
  std::vector<std::string> probes;
  int steps = 0;  // steps between samples; 0: one sample of the present state
  int count = 1;
  std::string csv;
};

// Column names of a probe, each after a comma: its own name, or one for each of its numbers.
std::string NameColumns(const v1::ProbeValue& probe) {
  static const char* const kAxes[] = {"x", "y", "z"};
  std::string names;
  for (int i = 0; i < probe.values_size(); ++i) {
    names += "," + probe.name();
    if (probe.values_size() == 3) names += std::string(".") + kAxes[i];
    if (probe.values_size() > 1 && probe.values_size() != 3) names += absl::StrFormat(".%d", i);
  }
  return names;
}

template <typename Probes>
std::string MakeHeader(const Probes& probes) {
  std::string line = "time";
  for (const v1::ProbeValue& probe : probes) line += NameColumns(probe);
  return line + "\n";
}

template <typename Probes>
std::string MakeRow(double time, const Probes& probes) {
  std::string line = absl::StrFormat("%.17g", time);
  for (const v1::ProbeValue& probe : probes)
    for (const double value : probe.values()) line += absl::StrFormat(",%.17g", value);
  return line + "\n";
}

// Writes lines to a file or to stdout.
class Table {
 public:
  explicit Table(const std::string& path) : path_(path) {
    if (path.empty() || path == "-") return;
    file_.open(path, std::ios::binary);
    CheckFile();
  }
  void Write(const std::string& line) {
    if (!file_.is_open()) return Print(line);
    file_ << line << std::flush;
    CheckFile();
  }

 private:
  void CheckFile() const {
    if (!file_) throw CommandError(kUnreachable, path_ + ": cannot be written");
  }
  const std::string path_;
  std::ofstream file_;
};

void PrintProbes(const v1::ProbeWorldResponse& response) {
  PrintLine(absl::StrFormat("step %d  t %.6f s", response.step(), response.time()));
  for (const v1::ProbeValue& probe : response.probes()) {
    std::string line = absl::StrFormat("  %-24s", probe.name());
    for (const double value : probe.values()) line += absl::StrFormat(" %.9g", value);
    if (probe.rows_size() > 0) line += absl::StrFormat(" %d rows", probe.rows_size());
    PrintLine(line);
  }
}

int Probe(Session* session, const ProbeArguments& arguments) {
  const World world = session->world(arguments.world);
  v1::ProbeWorldResponse now = session->Value(world.Probe(arguments.probes));
  const bool is_table = !arguments.csv.empty();
  if (!is_table && arguments.steps == 0) {
    if (session->json()) {
      PrintJson(now);
    } else {
      PrintProbes(now);
    }
    return kDone;
  }
  std::unique_ptr<Table> table;
  if (!session->json() || is_table) {
    table = std::make_unique<Table>(arguments.csv);
    table->Write(MakeHeader(now.probes()));
  }
  const auto write = [&] {
    if (table != nullptr) {
      table->Write(MakeRow(now.time(), now.probes()));
    } else {
      PrintJson(now);
    }
  };
  write();
  v1::StepWorldRequest request;
  request.set_steps(arguments.steps);
  for (const v1::ProbeValue& probe : now.probes()) request.add_probes(probe.name());
  for (int i = 0; arguments.steps > 0 && i < arguments.count; ++i) {
    v1::StepWorldResponse stepped = session->Value(world.Step(request));
    now.set_step(stepped.step());
    now.set_time(stepped.time());
    now.mutable_probes()->Swap(stepped.mutable_probes());
    write();
  }
  return kDone;
}

}  // namespace

void AddProbeCommand(CLI::App* world, Session* session, Action* action) {
  const auto arguments = std::make_shared<ProbeArguments>();
  CLI::App* probe = world->add_subcommand(
      "probe", "Sample probes of the scene, now or while stepping, as text, JSON or CSV");
  probe->add_option("world", arguments->world, "Name of the world, with or without worlds/")
      ->required();
  probe->add_option("probes", arguments->probes, "Names of probes (default: all of the scene)");
  CLI::Option* steps = probe
                           ->add_option("--every", arguments->steps,
                                        "Step the world, and take a sample after every N steps")
                           ->check(CLI::PositiveNumber);
  probe->add_option("--count", arguments->count, "Number of such samples (default 1)")
      ->check(CLI::PositiveNumber)
      ->needs(steps);
  probe->add_option("--csv", arguments->csv,
                    "Write a table with a column for each number; -: stdout");
  probe->callback([=] { *action = [=] { return Probe(session, *arguments); }; });
}

}  // namespace pliant::clients
