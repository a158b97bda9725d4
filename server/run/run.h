#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "server/run/scene_arguments.h"

namespace pliant::server {

// Options of `pliantd run`.
struct RunOptions : SceneArguments {
  double duration = 0;      // [s], ≥ 0: steps = ceil(duration / h − 1e-9)
  int threads = 0;          // 0: one for every core
  std::string json;         // file, "-" for `out`; empty: a summary for people on `out`
  std::string out_folder;   // probes.csv, report.json, fields; empty: none
  double fields_rate = 50;  // frames per simulated second; 0: every step; negative: no fields
  std::string state_in, state_out, residuals;  // files; empty: none
  std::string
      contact_problem;  // file of the problem of `at_step`, its matrices beside it; empty: none
  std::int64_t at_step = 1;
  std::string version;
};

// Runs a scene without a network and writes the requested output. `out` is for results, `err` for
// messages; progress goes to stderr. SIGINT and SIGTERM end the run after the current step, and
// recorded data is written. Returns an ExitStatus.
int Run(const RunOptions& options, std::ostream& out, std::ostream& err);

}  // namespace pliant::server
