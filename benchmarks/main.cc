// Benchmarks: ./dev bench SUITE [--case NAME] [--threads N] [--steps N] [--json FILE]. They are not
// tests; they print ratios against a baseline measured in the same run.

#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <tbb/global_control.h>

#include "benchmarks/suite.h"

namespace {

using nlohmann::ordered_json;

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string Today() {
  char text[16];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

// Prints one line per row: the case, then its numbers.
void PrintTable(const ordered_json& rows) {
  for (const ordered_json& row : rows) {
    std::printf("%-34s", row.at("case").get<std::string>().c_str());
    for (const auto& [key, value] : row.items()) {
      if (value.is_number_integer()) {
        std::printf("  %s %lld", key.c_str(), value.get<long long>());
      } else if (value.is_number()) {
        std::printf("  %s %.4g", key.c_str(), value.get<double>());
      } else if (value.is_boolean()) {
        std::printf("  %s %s", key.c_str(), value.get<bool>() ? "yes" : "no");
      }
      if (key == "step_ms") {
        std::printf("  step_ms median %.4f p95 %.4f", value.at("median").get<double>(),
                    value.at("p95").get<double>());
      }
    }
    if (row.contains("peer") && row.at("peer").contains("step_ms")) {
      std::printf("  peer median %.4f", row.at("peer").at("step_ms").at("median").get<double>());
      for (const auto& [key, value] : row.at("peer").items())
        if (value.is_number()) std::printf("  peer %s %.4g", key.c_str(), value.get<double>());
    }
    if (row.contains("note")) std::printf("  (%s)", row.at("note").get<std::string>().c_str());
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Benchmarks of Pliant: ratios against a baseline measured in the same run."};
  std::string suite = "foundation", only, json;
  int threads = 1, steps = 0;
  app.add_option("suite", suite,
                 "which suite: foundation, linalg, robots, peers, methods, han2023, zeng2022, "
                 "macklin2019, figures, impact, store")
      ->check(CLI::IsMember({"foundation", "linalg", "robots", "peers", "methods", "han2023",
                             "zeng2022", "macklin2019", "figures", "impact", "store"}))
      ->capture_default_str();
  app.add_option("--case", only, "only the cases whose name contains this");
  app.add_option("--threads", threads, "worker threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--steps", steps,
                 "han2023 only: maximum number of steps per case, for a quick run")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", json, "also write the rows to this file; - for standard output");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  ordered_json report{
      {"suite", suite},
      {"machine",
       {{"cpu", CpuName()}, {"cores", std::thread::hardware_concurrency()}, {"date", Today()}}},
      {"threads", threads},
      {"rows", suite == "linalg"        ? pliant::benchmarks::RunLinalg(only)
               : suite == "robots"      ? pliant::benchmarks::RunRobots(only)
               : suite == "peers"       ? pliant::benchmarks::RunPeers(only)
               : suite == "methods"     ? pliant::benchmarks::RunMethods(only)
               : suite == "han2023"     ? pliant::benchmarks::RunHan2023(only, steps, threads)
               : suite == "zeng2022"    ? pliant::benchmarks::RunZeng2022(only)
               : suite == "macklin2019" ? pliant::benchmarks::RunMacklin2019(only, threads)
               : suite == "figures"     ? pliant::benchmarks::RunFigures(only)
               : suite == "impact"      ? pliant::benchmarks::RunImpact(only)
               : suite == "store"       ? pliant::benchmarks::RunStore(only)
                                        : pliant::benchmarks::RunFoundation(only)}};
  if (json != "-") PrintTable(report["rows"]);
  if (json == "-") {
    std::printf("%s\n", report.dump(2).c_str());
  } else if (!json.empty()) {
    std::ofstream file(json);
    file << report.dump(2) << "\n";
    if (!file) {
      std::fprintf(stderr, "pliant_bench: cannot write %s; name a file in a folder that exists\n",
                   json.c_str());
      return 4;
    }
  }
  return 0;
}
