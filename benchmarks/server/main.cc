// The server under load: ./dev bench server [--case NAME] [--json FILE]. Real processes talk over
// the loopback interface, and rows have their goals beside the figures. Other load on the machine
// affects the figures.

#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "benchmarks/report/report.h"
#include "benchmarks/server/cases.h"
#include "benchmarks/server/viewer.h"

using pliant::benchmarks::Rows;

int main(int argc, char** argv) {
  CLI::App app{"The server under load, over the loopback interface."};
  std::string only, json;
  int cycles = 100'000, visits = 10'000;
  double seconds = 10;
  app.add_option("--case", only, "only the cases whose name contains this");
  app.add_option("--cycles", cycles, "create_delete only: number of worlds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--visits", visits, "connections only: number of connections over each transport")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seconds", seconds, "viewers_100 only: length of each period")
      ->check(CLI::Range(1.0, 600.0))
      ->capture_default_str();
  app.add_option("--json", json, "also write the rows to this file; - for standard output");

  pliant::benchmarks::ViewerOptions viewer;
  std::string tier;
  CLI::App* watch = app.add_subcommand("viewer", "")->group("");  // started by the cases
  watch->add_option("--transport", viewer.transport);
  watch->add_option("--address", viewer.address);
  watch->add_option("--world", viewer.world);
  watch->add_option("--tier", tier);
  watch->add_option("--rate", viewer.rate);
  watch->add_option("--bits-per-second", viewer.bits_per_second);
  watch->add_option("--count", viewer.count);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (watch->parsed()) {
    viewer.decimated = tier == "decimated";
    return pliant::benchmarks::RunViewerProcess(viewer);
  }

  Rows rows = Rows::array();
  const auto run = [&](const std::string& name, const auto& measure) {
    if (name.find(only) == std::string::npos) return;
    std::fprintf(stderr, "%s\n", name.c_str());
    measure();
  };
  using namespace pliant::benchmarks;
  run("lockstep", [&] { RunLockstep(&rows); });
  run("step_worlds", [&] { RunStepWorlds(&rows); });
  run("small_worlds", [&] { RunSmallWorlds(&rows); });
  run("create_delete", [&] { RunCreateDelete(cycles, &rows); });
  run("connections", [&] { RunConnections(visits, &rows); });
  run("checkpoint_rpc", [&] { RunCheckpoints(&rows); });
  run("encoding", [&] { RunEncoding(&rows); });
  run("frame_lag", [&] { RunFrameLag(&rows); });
  run("viewers_100", [&] { RunViewers(seconds, &rows); });
  return WriteReport({{"suite", "server"}, {"machine", DescribeMachine()}, {"rows", rows}}, json);
}
