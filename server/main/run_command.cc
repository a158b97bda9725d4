#include <cmath>
#include <iostream>

#include "server/main/commands.h"
#include "server/main/scene_options.h"
#include "server/run/exit_status.h"
#include "server/run/run.h"

namespace pliant::server {
namespace {

class RunCommand final : public Command {
 public:
  explicit RunCommand(CLI::App* pliantd)
      : app_(pliantd->add_subcommand("run",
                                     "Simulate a scene without a server and write its probes")) {
    AddSceneOptions(app_, &options_);
    app_->add_option("--duration", options_.duration, "Simulated time [s]")
        ->required()
        ->check(CLI::Range(0.0, 1e9));
    app_->add_option("--threads", options_.threads,
                     "Number of threads (default: one per core); results do not depend on it")
        ->check(CLI::Range(1, 1024));
    app_->add_option("--json", options_.json, "Write the report to this file, or to stdout with -");
    app_->add_option("--out", options_.out_folder,
                     "Write probes.csv, report.json and fields for ParaView into this folder");
    app_->add_option(
            "--fields-rate", options_.fields_rate,
            "Frames of fields per simulated second (default 50); 0: after every step, -1: none")
        ->check(CLI::Range(-1.0, 1e9));
    app_->add_option("--state-in", options_.state_in, "Continue from this saved state");
    app_->add_option("--state-out", options_.state_out, "Save the final state");
    app_->add_option("--residuals", options_.residuals,
                     "Write the residual of every iteration of every step (CSV)");
    app_->add_option("--seed", seed_,
                     "Random seed; has no effect yet, because nothing in a scene is random");
    app_->add_option("--contact-problem", options_.contact_problem,
                     "Write the contact problem of one step and its solution to this JSON file, "
                     "and its matrices A and J (MatrixMarket) next to it");
    app_->add_option("--at-step", options_.at_step,
                     "The step for --contact-problem (default 1, the first)")
        ->check(CLI::PositiveNumber);
    app_->footer(
        "Examples:\n"
        "  pliantd run scenes/soft_ball.yaml --duration 2\n"
        "  pliantd run cube.yaml --duration 1 --json - --set contact.friction=0.3\n"
        "  pliantd run cube.yaml --duration 5 --out results --method corrective\n"
        "  pliantd run cube.yaml --duration 5 --state-out half.state\n"
        "  pliantd run cube.yaml --duration 5 --state-in half.state\n"
        "\n"
        "Exit status: 0 done, 1 fault in the run, 2 wrong usage, 3 invalid scene,\n"
        "4 environment (a file cannot be written, the disk is full).");
  }

  CLI::App* app() override { return app_; }

  int Execute() override {
    if (app_->count("--at-step") > 0 && options_.contact_problem.empty()) {
      std::cerr << "pliantd run: --at-step selects the step of --contact-problem FILE; give that "
                   "option too\n";
      return kWrongUsage;
    }
    if (!std::isfinite(options_.duration)) {
      std::cerr << "pliantd run: --duration must be a finite number of seconds, at least 0\n";
      return kWrongUsage;
    }
    options_.version = PLIANT_VERSION;
    return Run(options_, std::cout, std::cerr);
  }

 private:
  CLI::App* app_;
  RunOptions options_;
  std::uint64_t seed_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand(CLI::App* pliantd) {
  return std::make_unique<RunCommand>(pliantd);
}

}  // namespace pliant::server
