#include <iostream>

#include "server/main/commands.h"
#include "server/main/scene_options.h"
#include "server/run/check.h"

namespace pliant::server {
namespace {

class CheckCommand final : public Command {
 public:
  explicit CheckCommand(CLI::App* pliantd)
      : app_(pliantd->add_subcommand("check", "Validate a scene and all files that it uses")) {
    AddSceneOptions(app_, &options_);
    app_->add_option("--json", options_.json,
                     "Write the messages as a JSON list to this file, or to stdout with -");
    app_->footer(
        "Examples:\n"
        "  pliantd check scenes/soft_ball.yaml\n"
        "  pliantd check ball.yaml --json -\n"
        "\n"
        "Exit status: 0 valid (warnings are listed), 2 wrong usage,\n"
        "3 invalid (one error per line).");
  }

  CLI::App* app() override { return app_; }
  int Execute() override { return Check(options_, std::cout, std::cerr); }

 private:
  CLI::App* app_;
  CheckOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeCheckCommand(CLI::App* pliantd) {
  return std::make_unique<CheckCommand>(pliantd);
}

}  // namespace pliant::server
