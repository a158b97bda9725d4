#include <iostream>

#include "server/main/commands.h"
#include "server/run/import_scene.h"

namespace pliant::server {
namespace {

class ImportCommand final : public Command {
 public:
  explicit ImportCommand(CLI::App* pliantd)
      : app_(pliantd->add_subcommand("import", "Write a scene of robot and mesh files")) {
    app_->add_option("files", options_.files, "Robots (URDF, SDF, MJCF, xacro) and meshes")
        ->required();
    app_->add_option("--out", options_.out, "Scene file to write (default: stdout)");
    app_->footer(
        "The scene has a floor, drives that hold each robot at its rest pose, differential IK at\n"
        "its tips, and each mesh as a soft body of rubber. `--scene FILE` shows the same at once.\n"
        "\n"
        "Examples:\n"
        "  pliantd import arm.urdf --out scene.yaml\n"
        "  pliantd import arm.urdf part.stl --out scene.yaml\n"
        "\n"
        "Exit status: 0 written, 2 wrong usage, 3 a file cannot be read, 4 not writable.");
  }

  CLI::App* app() override { return app_; }

  int Execute() override { return ImportScene(options_, std::cout, std::cerr); }

 private:
  CLI::App* app_;
  ImportOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeImportCommand(CLI::App* pliantd) {
  return std::make_unique<ImportCommand>(pliantd);
}

}  // namespace pliant::server
