#include <iostream>

#include "server/main/commands.h"
#include "server/main/scene_options.h"
#include "server/run/dynamics.h"

namespace pliant::server {
namespace {

class DynamicsCommand final : public Command {
 public:
  explicit DynamicsCommand(CLI::App* pliantd)
      : app_(pliantd->add_subcommand(
            "dynamics", "Mass matrix, bias forces and accelerations of a scene's robots")) {
    AddSceneOptions(app_, &options_);
    app_->add_option("--states", options_.states,
                     "JSON: [{robot, q: {joint: value}, v: {joint: value}, tau: {joint: value}}]")
        ->required();
    app_->add_option("--json", options_.json,
                     "Write the results to this file, or to stdout with -");
    app_->footer(
        "For every state: {robot, joints, mass_matrix, bias, acceleration, link_poses, "
        "jacobians},\n"
        "without contact, actuators, damping, springs and friction. A state may also have\n"
        "accelerations `a`; its result then has the `effort` that they require.\n"
        "\n"
        "Example:\n"
        "  pliantd dynamics scenes/iiwa_allegro.yaml --states states.json --json -\n"
        "\n"
        "Exit status: 0 done, 1 a mass matrix is singular, 2 wrong usage or wrong states,\n"
        "3 invalid scene, 4 environment.");
  }

  CLI::App* app() override { return app_; }
  int Execute() override { return CalcDynamics(options_, std::cout, std::cerr); }

 private:
  CLI::App* app_;
  DynamicsOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeDynamicsCommand(CLI::App* pliantd) {
  return std::make_unique<DynamicsCommand>(pliantd);
}

}  // namespace pliant::server
