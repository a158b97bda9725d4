#include <iostream>

#include "server/main/commands.h"
#include "server/run/replay.h"

namespace pliant::server {
namespace {

// `pliantd replay` and `pliantd export`, which take the same recording.
class ReplayCommand final : public Command {
 public:
  ReplayCommand(CLI::App* app, bool exports) : app_(app), exports_(exports) {
    app_->add_option("file", arguments_.file, "Recording (MCAP file)")->required();
    app_->add_option("--scene", arguments_.scene,
                     "Scene file, for a recording of a world that came from a file");
    app_->add_option("--scenes-dir", arguments_.scenes_dir,
                     "Folder of the scenes that come with the server, for a world that came from "
                     "one of these");
    if (exports_) {
      app_->add_option("--out", arguments_.out_folder,
                       "Write probes.csv, and fields for ParaView (VTU, PVD), into this folder")
          ->required();
      app_->add_option("--fields-rate", arguments_.fields_rate,
                       "Frames of fields per simulated second (default 50); 0: after every step, "
                       "-1: none")
          ->check(CLI::Range(-1.0, 1e9));
    } else {
      app_->add_option("--json", arguments_.json,
                       "Write the result to this file, or to stdout with -");
    }
    app_->footer(
        "Exit status: 0 every state is as recorded, 1 a state differs or the file is damaged,\n"
        "2 wrong usage, 3 no recording, or its scene is invalid, 4 environment (a file cannot be\n"
        "read or written).");
  }

  CLI::App* app() override { return app_; }
  int Execute() override {
    return exports_ ? Export(arguments_, std::cout, std::cerr)
                    : Replay(arguments_, std::cout, std::cerr);
  }

 private:
  CLI::App* app_;
  const bool exports_;
  ReplayArguments arguments_;
};

}  // namespace

std::unique_ptr<Command> MakeReplayCommand(CLI::App* pliantd) {
  return std::make_unique<ReplayCommand>(
      pliantd->add_subcommand("replay", "Step a recording again and compare its states"), false);
}

std::unique_ptr<Command> MakeExportCommand(CLI::App* pliantd) {
  return std::make_unique<ReplayCommand>(
      pliantd->add_subcommand("export", "Write the probes and fields of a recording"), true);
}

}  // namespace pliant::server
