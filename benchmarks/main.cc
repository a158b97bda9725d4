// Benchmarks: ./dev bench SUITE [--case NAME] [--threads N] [--steps N] [--json FILE]. They are not
// tests; they print ratios against a baseline measured in the same run.

#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <tbb/global_control.h>

#include "benchmarks/report/report.h"
#include "benchmarks/suite.h"

using nlohmann::ordered_json;

int main(int argc, char** argv) {
  CLI::App app{"Benchmarks of Pliant: ratios against a baseline measured in the same run."};
  std::string suite = "foundation", only, json;
  int threads = 1, steps = 0;
  app.add_option("suite", suite,
                 "which suite: foundation, linalg, robots, peers, methods, han2023, zeng2022, "
                 "macklin2019, zong2024, larionov2023, figures, impact, store, meshing, rollouts")
      ->check(CLI::IsMember({"foundation", "linalg", "robots", "peers", "methods", "han2023",
                             "zeng2022", "macklin2019", "zong2024", "larionov2023", "figures",
                             "impact", "store", "meshing", "rollouts"}))
      ->capture_default_str();
  app.add_option("--case", only, "only the cases whose name contains this");
  app.add_option("--threads", threads, "worker threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--steps", steps,
                 "han2023 and zong2024: maximum number of steps per case, for a quick run")
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
      {"machine", pliant::benchmarks::DescribeMachine()},
      {"threads", threads},
      {"rows", suite == "linalg"         ? pliant::benchmarks::RunLinalg(only)
               : suite == "robots"       ? pliant::benchmarks::RunRobots(only)
               : suite == "peers"        ? pliant::benchmarks::RunPeers(only)
               : suite == "methods"      ? pliant::benchmarks::RunMethods(only)
               : suite == "han2023"      ? pliant::benchmarks::RunHan2023(only, steps, threads)
               : suite == "zeng2022"     ? pliant::benchmarks::RunZeng2022(only)
               : suite == "macklin2019"  ? pliant::benchmarks::RunMacklin2019(only, threads)
               : suite == "zong2024"     ? pliant::benchmarks::RunZong2024(only, steps)
               : suite == "larionov2023" ? pliant::benchmarks::RunLarionov2023(only)
               : suite == "figures"      ? pliant::benchmarks::RunFigures(only)
               : suite == "impact"       ? pliant::benchmarks::RunImpact(only)
               : suite == "meshing"      ? pliant::benchmarks::RunMeshing(only)
               : suite == "rollouts"     ? pliant::benchmarks::RunRollouts(only)
               : suite == "store"        ? pliant::benchmarks::RunStore(only)
                                         : pliant::benchmarks::RunFoundation(only)}};
  return pliant::benchmarks::WriteReport(report, json);
}
